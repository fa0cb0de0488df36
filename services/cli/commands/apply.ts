import type { ApplyItem } from '#services/client/api.ts'
import { planObjects } from '../apply-plan.ts'
import type { Command, CommandContext } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { formatTable } from '../format-table.ts'
import { type Manifest, parseManifest } from '../manifest.ts'
import { readInput } from '../read-input.ts'
import { UsageError } from '../usage-error.ts'

interface Row {
  action: string
  kind: string
  name: string
}

/** `ambit apply -f FILE`. */
export const apply: Command = {
  summary: 'Make policy, agents, sources, connectors and subscriptions as a YAML file says.',
  arguments: [],
  options: {
    file: { type: 'string', short: 'f', value: 'FILE', multiple: true, help: 'YAML; - is stdin.' },
    'dry-run': { type: 'boolean', help: 'Say what would be done and do nothing.' },
    prune: { type: 'boolean', help: 'Delete subscriptions of the label that are not in the file.' },
    'managed-by': { type: 'string', value: 'LABEL', help: 'Label of the set. Default: apply' },
  },
  notes: [
    'Documents: {kind: Policy, spec}, {kind: Agent|Source|Connector|Subscription, name, spec};',
    '`spec` is what the API takes. Subscriptions are matched by name among those with the same',
    'label, and only those are ever pruned. `ambit export` writes such a file.',
  ],
  async run(context) {
    const manifest = await readManifest(context)
    const isDryRun = context.flags.isSet('dry-run')
    const rows = [
      ...(await applyObjects(context, manifest, isDryRun)),
      ...(await applySubscriptions(context, manifest, isDryRun)),
    ]
    const { output } = context
    if (output.isJson) output.json({ dryRun: isDryRun, items: rows })
    else output.text(formatTable(COLUMNS, rows))
    if (isDryRun) output.note('Nothing was changed: this was a dry run.')
    return EXIT.ok
  },
}

const COLUMNS = [
  ['ACTION', 'action'],
  ['KIND', 'kind'],
  ['NAME', 'name'],
] as const

async function readManifest({ flags, world }: CommandContext): Promise<Manifest> {
  const files = flags.texts('file')
  if (files.length === 0) {
    throw new UsageError('A file is needed.', { expected: 'ambit apply -f FILE' })
  }
  if (flags.isSet('prune') && !flags.text('managed-by')) {
    throw new UsageError('Pruning needs the label of the set that the file is.', {
      expected: '--prune --managed-by LABEL',
    })
  }
  const texts = await Promise.all(
    files.map(async file => parseManifest(await readInput(world, file), file)),
  )
  const policies = texts.flatMap(({ policy }) => policy ?? [])
  if (policies.length > 1) throw new UsageError('A tenant has one policy; the files hold several.')
  return {
    ...(policies[0] ? { policy: policies[0] } : {}),
    agents: texts.flatMap(({ agents }) => agents),
    sources: texts.flatMap(({ sources }) => sources),
    connectors: texts.flatMap(({ connectors }) => connectors),
    subscriptions: texts.flatMap(({ subscriptions }) => subscriptions),
  }
}

/** First what subscriptions depend on: the policy, then agents, sources and connectors. */
async function applyObjects(
  { client, output }: CommandContext,
  manifest: Manifest,
  isDryRun: boolean,
): Promise<Row[]> {
  const rows: Row[] = []
  for (const { action, kind, name, apply } of await planObjects(client(), manifest)) {
    if (!isDryRun && action !== 'unchanged') {
      await apply().catch(error => {
        if (rows.length > 0) output.note(`Done before the failure:\n${formatTable(COLUMNS, rows)}`)
        throw error
      })
    }
    rows.push({ action, kind, name })
  }
  return rows
}

async function applySubscriptions(
  { client, flags }: CommandContext,
  { subscriptions }: Manifest,
  dryRun: boolean,
): Promise<Row[]> {
  const prune = flags.isSet('prune')
  if (subscriptions.length === 0 && !prune) return []
  const managedBy = flags.text('managed-by')
  const { items } = await client().subscriptions.apply(subscriptions, {
    dryRun,
    prune,
    ...(managedBy === undefined ? {} : { managedBy }),
  })
  return items.map(({ action, name, id }: ApplyItem) => ({
    action,
    kind: 'subscription',
    // A dry run makes up the id of what it would create.
    name: action === 'create' && dryRun ? name : `${name} (${id})`,
  }))
}
