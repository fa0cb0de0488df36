import type { EventInput, SubscriptionInput, TestResult } from '#services/client/api.ts'
import { isClientError } from '#services/client/client-error.ts'
import type { Command } from '../command.ts'
import { costText } from '../cost-text.ts'
import { EXIT } from '../exit-codes.ts'
import { withSubscription } from '../find-subscription.ts'
import { formatTable } from '../format-table.ts'
import { parseManifest } from '../manifest.ts'
import { parseJson, readInput } from '../read-input.ts'
import { UsageError } from '../usage-error.ts'

const COLUMNS = [
  ['EVENT', 'event'],
  ['VERDICT', 'verdict'],
  ['FATE', 'fate'],
  ['REASON', 'reason'],
  ['EVIDENCE', 'evidence'],
] as const

/** `ambit test ID -e FILE` or `ambit test -f FILE -e FILE`: nobody is woken. */
export const testCondition: Command = {
  summary: 'Try a subscription, saved or in a file, on events without waking anybody.',
  arguments: ['[ID|NAME]'],
  options: {
    file: { type: 'string', short: 'f', value: 'FILE', help: 'YAML with one Subscription.' },
    events: {
      type: 'string',
      short: 'e',
      value: 'FILE',
      help: 'JSON: a list of CloudEvents; - is stdin. An observation fetches its own.',
    },
  },
  async run({ args: [id], flags, client, output, world }) {
    const given = flags.text('events')
    const events = given && eventsOf(parseJson(await readInput(world, given), given), given)
    const file = flags.text('file')
    if ((id === undefined) === (file === undefined)) {
      throw new UsageError('One subscription is needed.', {
        expected: 'ambit test ID or ambit test -f FILE',
      })
    }
    const { subscriptions } = client()
    const draft =
      file === undefined
        ? undefined
        : draftOf(parseManifest(await readInput(world, file), file).subscriptions, file)
    const trying = draft
      ? subscriptions.testDraft(draft, events || [])
      : withSubscription(client(), id ?? '', known =>
          subscriptions.test(known, events || undefined),
        )
    const result = await trying.catch(error => {
      throw given ? error : (eventsNeeded(error) ?? error)
    })
    if (output.isJson) output.json(result)
    else if (result.items.length === 0) output.note('The observation found no items.')
    else output.text(formatTable(COLUMNS, result.items.map(rowOf)))
    output.note(`Nobody was woken. Judging took ${costText(result.usage ?? {})}.`)
    return EXIT.ok
  },
}

/** The API speaks of a member of the body; a person gives a file. */
function eventsNeeded(error: unknown): UsageError | undefined {
  if (!isClientError(error) || error.pointer !== '/events') return undefined
  return new UsageError('Events to try are needed: only an observation fetches its own.', {
    expected: '-e FILE',
    came: 'nothing',
    todo: 'Write a JSON list of CloudEvents to a file and give it with -e FILE (- is stdin).',
  })
}

function eventsOf(value: unknown, where: string): EventInput[] {
  if (Array.isArray(value)) return value as EventInput[]
  throw new UsageError(`${where} holds no list of events.`, {
    expected: 'a JSON list of CloudEvents',
    came: typeof value,
  })
}

function draftOf(found: readonly SubscriptionInput[], where: string): SubscriptionInput {
  const [draft, ...others] = found
  if (draft && others.length === 0) return draft
  throw new UsageError(`${where} holds ${found.length} subscriptions.`, {
    expected: 'one document of kind Subscription',
    came: String(found.length),
  })
}

/** One item of a dry run as a row. */
export function rowOf({ event, verdict, fate, reason, details }: TestResult['items'][number]) {
  const quotes = verdict?.evidence?.map(({ quote }) => quote) ?? []
  return {
    event: String((event as { id?: unknown }).id ?? ''),
    verdict: verdict ? `${verdict.outcome} ${verdict.confidence} (${verdict.model})` : '-',
    fate: fate ?? 'not matched',
    reason: [reason, fate === null ? details?.filter : undefined].filter(Boolean).join(' '),
    evidence: quotes.join(' | '),
  }
}
