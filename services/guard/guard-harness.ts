/**
 * Test support: given a subscription, when events, changes, outcomes and time come, then rows,
 * messages and notices. It runs the real step over a store in memory, with every record encoded.
 */
import { agentSchema } from '#kernel/domain/agent.ts'
import { type CloudEvent, dedupKeyOf } from '#kernel/domain/event.ts'
import { toEventRecord } from '#kernel/domain/event-record.ts'
import { candidateIdOf, occurrenceIdOf, tenantKey } from '#kernel/domain/ids.ts'
import { DEFAULT_LIMITS, type Limits } from '#kernel/domain/limits.ts'
import { stringifyLossless } from '#kernel/domain/lossless-json.ts'
import { type PolicyInput, policySchema } from '#kernel/domain/policy.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import {
  createUnitOfWork,
  type UnitChanges,
  type UnitOfWork,
  wantMissing,
} from '#kernel/domain/unit-of-work.ts'
import type { Restored, Step } from '#kernel/host/step.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec, RecordTypes } from '#schemas/codec.ts'
import type { Candidate, Outcome } from '#schemas/generated/records.ts'
import { createGuardStep, type GuardItem } from './guard-step.ts'

const TENANT = 'acme'
const SUBSCRIPTION = 's1'
export const START = Date.parse('2026-11-30T10:00:00Z')

type Topic = Parameters<UnitOfWork['emit']>[0]['topic']

const RECORD_OF = {
  decisions: 'decision',
  mailbox: 'message',
  notices: 'notice',
  usage: 'usage',
  'registry.changes': 'change',
  'guard.state': 'guard-state',
} as const satisfies Partial<Record<Topic, keyof RecordTypes>>
type Written = keyof typeof RECORD_OF

/** An event to send; `offset` is its place in the ingress topic, new for every sending. */
export interface Sending {
  id: string
  source?: string
  type?: string
  subject?: string
  time?: string
  dedupkey?: string
  lineage?: string
  data?: unknown
  offset?: number
  version?: number
  verdict?: Candidate['verdict']
  skipped?: Candidate['skipped']
}

export interface HarnessOptions {
  codec: RecordCodec
  limits?: Partial<Limits>
  policy?: PolicyInput
  subscription?: Partial<Subscription>
}

/** Starts with one live subscription, version 1, in a tenant with one agent. */
export function createGuardHarness(options: HarnessOptions) {
  const world = {
    now: START,
    offset: 0,
    subscription: subscriptionOf(options),
    policy: { ...policySchema.parse(options.policy ?? {}), tenant: TENANT, version: 1 },
    agents: new Set(['triage']),
    stopped: { tenant: false, agent: false },
  }
  const counted = { fate: 0, repeat: 0 }
  const stop = { reason: 'because', by: 'user:ana', at: '2026-11-30T10:00:00Z' }
  const step = createGuardStep({
    codec: options.codec,
    onDecision: (_decision, kind) => {
      counted[kind] += 1
    },
    directory: {
      subscription: (_tenant, id) => (id === SUBSCRIPTION ? world.subscription : undefined),
      policy: () => world.policy,
      tenant: () => (world.stopped.tenant ? { stopped: stop } : undefined),
      agent: (tenant, id) => {
        if (!world.agents.has(id)) return undefined
        const agent = { ...agentSchema.parse({}), id, tenant, version: 1 }
        return world.stopped.agent ? { ...agent, stopped: stop } : agent
      },
    },
  })
  const store = createStore(
    () => world.now,
    options.codec,
    outputs => step.committed(outputs),
  )
  const feed = (topic: string, name: 'candidate' | 'outcome', value: Candidate | Outcome) => {
    const bytes = options.codec.encode(name, value as never)
    const record = recordOf({ topic, value: bytes, offset: world.offset++, timestamp: world.now })
    decideRecord(step, store, record)
  }
  const rows = <N extends Written>(topic: N) =>
    store.log
      .filter(record => record.topic === topic && record.value !== null)
      .map(({ value }) => options.codec.decode(RECORD_OF[topic], value ?? new Uint8Array()))
  return {
    world,
    step,
    store,
    /** What a metric would have counted. */
    counted,
    rows,
    send: (sending: Sending) => feed('candidates', 'candidate', candidateOf(world, sending)),
    /** A change that the registry answered: table and marker. */
    change(edit: (subscription: Subscription) => Partial<Subscription>) {
      const version = world.subscription.version + 1
      world.subscription = { ...world.subscription, ...edit(world.subscription), version }
      feed('candidates', 'candidate', markerOf(world.subscription, world.now))
    },
    outcome: (outcome: Partial<Outcome> & { messageId: string }) =>
      feed('outcomes', 'outcome', {
        ...{ tenant: TENANT, subscription: SUBSCRIPTION, agent: 'triage', state: 'done' },
        ...{ ok: true, stopReason: 'final-message', attempt: 1, at: world.now, ...outcome },
      }),
    /** Lets time pass and does what is due, at its own time. */
    advance(ms: number) {
      runDue(step, store, world, world.now + ms)
      world.now += ms
    },
    /** Newest row of an event, or undefined. */
    row: (id: string) => rows('decisions').findLast(decision => decision.event.id === id),
    fates: () => Object.values(Object.fromEntries(fatesOf(rows('decisions')))),
    rebuild: () => rebuildFrom(step, store.log, world.now),
  }
}

function fatesOf(decisions: RecordTypes['decision'][]) {
  return decisions.map(decision => [decision.candidateId, decision.fate] as const)
}

function subscriptionOf({ limits, subscription }: HarnessOptions): Subscription {
  const at = '2026-11-30T09:00:00Z'
  return {
    ...{ id: SUBSCRIPTION, tenant: TENANT, version: 1, name: 'refunds', agent: 'triage' },
    ...{ owner: 'user:ana', onBehalfOf: null, instruction: 'Draft an answer.', session: null },
    ...{
      workspace: null,
      managedBy: null,
      on: {},
      schedule: null,
      observe: null,
      filters: [],
      condition: null,
    },
    limits: { ...DEFAULT_LIMITS, ...limits },
    origin: { kind: 'person', id: 'ana' },
    state: {
      ...{ approval: 'not-required', operation: 'active', reason: '', by: 'user:ana' },
      ...{ at, version: 1 },
    },
    ...{ startsAt: {}, createdAt: at, updatedAt: at },
    ...subscription,
  }
}

function candidateOf(
  world: { now: number; offset: number; subscription: Subscription },
  { offset, version, verdict, skipped, ...sent }: Sending,
): Candidate {
  const { data, ...rest } = sent
  const event: CloudEvent = {
    ...{ specversion: '1.0', source: '/shop', type: 'com.shop.ticket', ...rest },
    ...(data === undefined ? {} : { data }),
  }
  return {
    ...{ kind: 'candidate', tenant: TENANT, subscription: SUBSCRIPTION },
    version: version ?? world.subscription.version,
    candidateId: candidateIdOf(TENANT, SUBSCRIPTION, event),
    occurrenceId: occurrenceIdOf(TENANT, SUBSCRIPTION, dedupKeyOf(event)),
    event: toEventRecord(event),
    position: { topic: 'ingress.platform', partition: 0, offset: offset ?? world.offset },
    recordedAt: world.now,
    verdict: verdict ?? null,
    skipped: skipped ?? null,
    marker: null,
    at: world.now,
  }
}

function markerOf({ version, state }: Subscription, at: number): Candidate {
  const { operation, approval } = state
  return {
    ...{ kind: 'marker', tenant: TENANT, subscription: SUBSCRIPTION, version },
    ...{ candidateId: '', occurrenceId: '', event: null, position: null, recordedAt: null },
    ...{ verdict: null, skipped: null },
    ...{ marker: { changeId: `c${version}`, operation, approval }, at },
  }
}

interface Store {
  documents: Map<string, { version: number; body: string }>
  counters: Map<string, number>
  due: Map<string, number>
  log: LogRecord[]
  transact(
    hints: { documents: string[]; counters: string[] },
    decide: (unit: UnitOfWork) => void,
  ): void
}

/** The loop of the host without its I/O: load, decide, ask for what was missing, commit. */
function createStore(
  now: () => number,
  codec: RecordCodec,
  onCommitted: (outputs: UnitChanges['outputs']) => void,
): Store {
  const documents: Store['documents'] = new Map()
  const counters: Store['counters'] = new Map()
  const due: Store['due'] = new Map()
  const ends = new Map<string, number>()
  const log: LogRecord[] = []
  const commit = ({ put, add, due: changed, outputs }: UnitChanges) => {
    for (const { key, version, body, ttlMs } of put) {
      if (body === null) documents.delete(key)
      else documents.set(key, { version, body })
      ends.set(key, ttlMs === undefined ? Number.POSITIVE_INFINITY : now() + ttlMs)
    }
    for (const { counter, amount, limit } of add) {
      const sum = (counters.get(counter) ?? 0) + amount
      if (limit !== undefined && sum > limit) throw new Error(`${counter} over ${limit}`)
      counters.set(counter, sum)
    }
    for (const { id, at } of changed) {
      if (at === null) due.delete(id)
      else due.set(id, at)
    }
    for (const { topic, key, value } of outputs) {
      const name = RECORD_OF[topic as Written]
      const bytes = value && codec.encode(name, value as never)
      const offset = log.length
      log.push(recordOf({ topic, key, value: bytes, offset, timestamp: now() }))
    }
  }
  const transact: Store['transact'] = (hints, decide) => {
    for (const [key, end] of ends) if (end <= now()) documents.delete(key)
    const asked = { documents: new Set(hints.documents), counters: new Set(hints.counters) }
    for (let tries = 0; tries < 50; tries++) {
      const loaded = { now: now(), documents, counters }
      const { unit, changes } = createUnitOfWork(TENANT, asked, loaded)
      try {
        decide(unit)
        commit(changes())
        return onCommitted(changes().outputs)
      } catch (error) {
        wantMissing(asked, error)
      }
    }
    throw new Error('the decision never had all it needs')
  }
  return { documents, counters, due, log, transact }
}

function recordOf(
  record: Pick<LogRecord, 'topic' | 'value' | 'offset' | 'timestamp'> & { key?: string },
): LogRecord {
  const key = new TextEncoder().encode(record.key ?? tenantKey(TENANT, SUBSCRIPTION))
  return { partition: 0, headers: {}, ...record, key }
}

function decideRecord(step: Step<GuardItem>, store: Store, record: LogRecord): void {
  const read = step.read(record)
  if (!read) return
  const item = { ...read, record }
  store.transact(step.hints(item, record.timestamp), unit => step.decide(unit, item))
}

function runDue(
  step: Step<GuardItem>,
  { due, transact }: Store,
  world: { now: number },
  until: number,
): void {
  const start = world.now
  for (let rounds = 0; rounds < 10_000; rounds++) {
    const [next] = [...due].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
    if (!next || next[1] > until) break
    const entry = { id: next[0], at: next[1] }
    world.now = Math.max(start, entry.at)
    const hints = step.dueHints?.(entry, TENANT) ?? { documents: [], counters: [] }
    transact(hints, unit => step.decideDue?.(unit, entry))
  }
  world.now = start
}

/** What a rebuild makes of the log alone. */
export function rebuildFrom(step: Step<GuardItem>, log: LogRecord[], now: number): Restored {
  const restored: Restored = {
    ...{ documents: new Map(), counters: new Map(), due: new Map(), outputs: [] },
  }
  for (const { topic } of step.rebuild?.sources ?? []) {
    for (const record of log.filter(r => r.topic === topic)) {
      step.rebuild?.fold(() => restored, record, now)
    }
  }
  return restored
}

/** A document as the store would hold it. */
export function storedBody(value: unknown): string {
  return stringifyLossless(value)
}
