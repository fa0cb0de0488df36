/** `GET /v1/traces`: an event and every hop from its acceptance to the runs it caused. */
import { askFactsOf } from '#kernel/domain/ask.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { instantOf, shownRun } from '#kernel/domain/message-view.ts'
import { AmbitError } from '#kernel/errors.ts'
import {
  type DecisionItem,
  type DecisionRow,
  decisionItem,
  decisionsOfEvent,
  hasFate,
} from './decision-queries.ts'
import { eventBody, findEvent } from './event-query.ts'
import type { ReadView } from './read-model.ts'

export type HopName =
  | 'accepted'
  | 'matched'
  | 'verdict'
  | 'answered'
  | 'decided'
  | 'message'
  | 'leased'
  | 'run'

export interface TraceHop {
  hop: HopName
  /** RFC 3339. */
  at: string
  [fact: string]: unknown
}

export interface Trace {
  event: CloudEvent | { source: string; id: string }
  hops: TraceHop[]
}

/** Of two hops in the same millisecond, the one that must come first. */
const ORDER: HopName[] = [
  ...(['accepted', 'matched', 'verdict', 'answered', 'decided'] as const),
  ...(['message', 'leased', 'run'] as const),
]

/** @throws AmbitError `not-found` when neither the event nor a decision about it is known. */
export async function traceEvent(
  view: ReadView,
  tenant: string,
  id: { source: string; id: string },
): Promise<Trace> {
  const event = findEvent(view, tenant, id)
  const decisions = decisionsOfEvent(view, tenant, id)
  if (!event && decisions.length === 0) {
    throw new AmbitError(
      'not-found',
      `No event ${id.id} of ${id.source} was accepted in the days that are kept.`,
    )
  }
  const accepted = event ? [hopAt('accepted', event.accepted_at, { topic: event.topic })] : []
  const messages = [...new Set(decisions.flatMap(({ message_id }) => message_id ?? []))]
  const hops = [
    ...accepted,
    ...decisions.flatMap(decisionHops),
    ...messages.flatMap(message => messageHops(view, tenant, message)),
  ]
  hops.sort((a, b) => compare(a.at, b.at) || ORDER.indexOf(a.hop) - ORDER.indexOf(b.hop))
  return { event: event ? await eventBody(view, event) : { ...id }, hops }
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function hopAt(hop: HopName, ms: number, facts: Record<string, unknown>): TraceHop {
  return { hop, at: instantOf(ms), ...facts }
}

function decisionHops(row: DecisionRow): TraceHop[] {
  const { subscription, candidate_id: candidateId } = row
  const item: DecisionItem = decisionItem(row)
  const hops: TraceHop[] = []
  const names = { subscription, candidateId }
  if (row.matched_at !== null) {
    hops.push(hopAt('matched', row.matched_at, { ...names, version: row.matched_version }))
  }
  const { askedAt, answer } = askFactsOf({ body: item.verdict })
  const judgedAt = askedAt === undefined ? (row.at ?? row.matched_at) : Date.parse(askedAt)
  if (item.verdict !== undefined && judgedAt !== null) {
    hops.push(hopAt('verdict', judgedAt, { ...names, verdict: item.verdict }))
  }
  if (answer) hops.push({ hop: 'answered', ...names, ...answer })
  if (!hasFate(row) || item.fate === 'held') return hops
  const { fate, stage, reason, details, repeats, messageId, groupKey, version, policyVersion } =
    item
  const facts = { fate, stage, reason, details, repeats, version, policyVersion }
  const links = { ...(messageId ? { messageId } : {}), ...(groupKey ? { groupKey } : {}) }
  return [...hops, { hop: 'decided', at: item.at, ...names, ...facts, ...links }]
}

interface TransitionRow {
  version: number
  token: number
  state: string
  attempt: number
  lease_id: string | null
  executor: string | null
  expires_at: number | null
  reason: string | null
  run: string | null
  by: string | null
  at: number
}

function messageHops({ database }: ReadView, tenant: string, messageId: string): TraceHop[] {
  const message = database.get<{ agent: string; created_at: number; state: string }>(
    'select agent, created_at, state from messages where id = ? and tenant = ? and offset not null',
    messageId,
    tenant,
  )
  const steps = database.all<TransitionRow>(
    'select * from transitions where message_id = ? and tenant = ? order by version',
    messageId,
    tenant,
  )
  const { agent, state } = message ?? {}
  const hops = message ? [hopAt('message', message.created_at, { messageId, agent, state })] : []
  const leases = new Set<string>()
  const runs = new Map<number, TraceHop>()
  for (const step of steps) hops.push(...stepHops(step, messageId, { leases, runs }))
  return hops
}

/** What was shown of a message so far. */
interface Shown {
  leases: Set<string>
  /** By attempt. */
  runs: Map<number, TraceHop>
}

/** A lease is shown once, however often it was renewed; a run once per attempt that ended. */
function stepHops(step: TransitionRow, messageId: string, { leases, runs }: Shown): TraceHop[] {
  const { attempt, token, executor, at, state, reason, by } = step
  if (state === 'leased') {
    const lease = step.lease_id ?? String(token)
    if (leases.has(lease)) return []
    leases.add(lease)
    const expiresAt = step.expires_at === null ? null : instantOf(step.expires_at)
    return [hopAt('leased', at, { messageId, attempt, token, executor, expiresAt })]
  }
  const isEnd = step.run !== null || (state !== 'queued' && state !== 'leased')
  if (!isEnd) return []
  const known = runs.get(attempt)
  if (known && step.run === null) {
    // What became of the message after that attempt, `dead` for example, is no run of its own.
    Object.assign(known, { state, reason })
    return []
  }
  const run: unknown = step.run === null ? null : shownRun(JSON.parse(step.run))
  const facts = { messageId, attempt, ...runFacts(run), state, reason, run, ...(by ? { by } : {}) }
  const hop = hopAt('run', at, facts)
  runs.set(attempt, hop)
  return [hop]
}

/** The members of a run that a reader wants at once, beside the whole of it. */
function runFacts(run: unknown): Record<string, unknown> {
  if (typeof run !== 'object' || run === null) return {}
  const { ok, stopReason, error, usage, iterations, toolCalls, calls } = run as Partial<RunFacts>
  const { inputTokens = 0, outputTokens = 0, cost } = usage ?? {}
  return {
    ...{ ok, stopReason },
    ...(error ? { error } : {}),
    usage: { inputTokens, outputTokens, ...(cost === undefined ? {} : { cost }) },
    ...{ iterations: iterations ?? 0, toolCalls: toolCalls ?? 0 },
    calls: (calls ?? []).map(({ tool, outcome }) => ({ tool, outcome })),
  }
}

/** What executors report; all of it optional for one's own executor, but the first two. */
interface RunFacts {
  ok: boolean
  stopReason: string
  error: unknown
  usage: { inputTokens?: number; outputTokens?: number; cost?: string } | null
  iterations: number
  toolCalls: number
  calls: { tool: string; outcome?: unknown }[]
}
