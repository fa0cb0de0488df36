/** Declarative files: YAML documents `{kind, name, spec}`, several in one file. */
import { LineCounter, parseAllDocuments } from 'yaml'
import type {
  AgentInput,
  ConnectorInput,
  PolicyInput,
  SourceInput,
  SubscriptionInput,
} from '#services/client/api.ts'
import { UsageError } from './usage-error.ts'

export interface Manifest {
  policy?: PolicyInput
  agents: { name: string; spec: AgentInput }[]
  sources: { name: string; spec: SourceInput }[]
  connectors: { name: string; spec: ConnectorInput }[]
  subscriptions: SubscriptionInput[]
}

/** What the API shows instead of a secret that it keeps. */
export const HIDDEN_SECRET = '(stored encrypted)'

const ALIASES_MAX = 100

const KINDS = ['Policy', 'Agent', 'Source', 'Connector', 'Subscription'] as const
type ManifestKind = (typeof KINDS)[number]

interface Item {
  kind: ManifestKind
  name: string
  spec: Record<string, unknown>
  /** Where it stands in the file, for errors. */
  where: string
}

/** Only the form is checked here; the API checks what is in `spec`. Throws `UsageError`. */
export function parseManifest(text: string, file: string): Manifest {
  const manifest: Manifest = { agents: [], sources: [], connectors: [], subscriptions: [] }
  const seen = new Set<string>()
  for (const item of itemsOf(text, file)) {
    const id = `${item.kind} ${item.name}`.trim()
    if (seen.has(id)) {
      throw new UsageError(`${item.where}: ${id} stands there twice.`, { todo: 'Keep one.' })
    }
    seen.add(id)
    add(manifest, item)
  }
  return manifest
}

function itemsOf(text: string, file: string): Item[] {
  const lineCounter = new LineCounter()
  const documents = parseAllDocuments(text, { lineCounter })
  if (!Array.isArray(documents)) return []
  return documents.flatMap(document => {
    const { line } = lineCounter.linePos(document.range[0])
    const where = `${file}, line ${line}`
    const [error] = document.errors
    if (error) {
      const at = error.linePos?.[0]?.line ?? line
      throw new UsageError(`${file}, line ${at}: ${error.message.split('\n')[0]}`, {
        expected: 'YAML documents of kind, name and spec',
      })
    }
    const value = contentOf(() => document.toJS({ maxAliasCount: ALIASES_MAX }), where)
    return value === null || value === undefined ? [] : [itemOf(value, where)]
  })
}

/** Aliases may multiply to more than memory holds; they are bounded. */
function contentOf(read: () => unknown, where: string): unknown {
  try {
    return read()
  } catch (error) {
    const came = error instanceof Error ? error.message : 'a failure'
    throw new UsageError(`${where}: this document cannot be read.`, {
      expected: `YAML with at most ${ALIASES_MAX} uses of an alias`,
      came,
    })
  }
}

function itemOf(value: unknown, where: string): Item {
  const { kind, name, spec, ...rest } = isMapping(value) ? value : {}
  const known = KINDS.find(candidate => candidate === kind)
  if (!known) throw wrong(where, `kind: ${KINDS.join(', ')}`, kind)
  if (!isMapping(spec)) throw wrong(where, 'spec: a mapping, as the API takes it', spec)
  const [extra] = Object.keys(rest)
  if (extra !== undefined) throw wrong(where, 'kind, name and spec only', extra)
  if (known === 'Policy') return { kind: known, name: '', spec, where }
  if (typeof name === 'string' && name !== '') return { kind: known, name, spec, where }
  throw wrong(where, 'name: a text', name)
}

function add(manifest: Manifest, { kind, name, spec, where }: Item): void {
  // The API checks every member, so the file's word is taken for the types here.
  if (kind === 'Policy') manifest.policy = spec as PolicyInput
  if (kind === 'Agent') manifest.agents.push({ name, spec: spec as AgentInput })
  if (kind === 'Subscription') {
    manifest.subscriptions.push({ ...spec, name } as SubscriptionInput)
  }
  if (kind === 'Source') {
    refuseHidden(spec.verification, `${where}: the secret of source ${name}`)
    manifest.sources.push({ name, spec: spec as unknown as SourceInput })
  }
  if (kind === 'Connector') {
    refuseHidden(spec.auth, `${where}: the secret of connector ${name}`)
    manifest.connectors.push({ name, spec: spec as unknown as ConnectorInput })
  }
}

function refuseHidden(holder: unknown, what: string): void {
  if (!isMapping(holder) || holder.secret !== HIDDEN_SECRET) return
  throw new UsageError(`${what} is not in the file.`, {
    expected: 'secret: env:NAME, file:PATH or the secret',
    came: HIDDEN_SECRET,
    todo: 'An export never holds a secret: put a reference in its place.',
  })
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function wrong(where: string, expected: string, came: unknown): UsageError {
  const text = came === undefined ? 'nothing' : (JSON.stringify(came) ?? String(came))
  return new UsageError(`${where}: this document cannot be applied.`, {
    expected,
    came: text.slice(0, 80),
  })
}
