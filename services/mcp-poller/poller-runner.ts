/**
 * The owner of a `cursors` partition polls its observations.
 *
 * I own: which observations are due here, one poll of each at a time, the order of writes, and the
 * memory of what was not worth writing down. I leave to others: what a poll does
 * (`perform-poll.ts`), what follows from it (`rules/`), which partitions are ours (the log).
 *
 * - P1 Events, changes and notices are durable before the position that passes them is appended;
 *   a crash in between repeats them under the same ids.
 * - P2 Nobody waits for another observation: a slow server delays its own.
 * - P3 A record of a former owner that comes late is overwritten by the present one (F28).
 */
import { partitionOf } from '#kernel/domain/ids.ts'
import type { ObservationState } from '#kernel/domain/observation-state.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { Admit } from '#kernel/host/connector-rate.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { McpConnections } from '#kernel/host/mcp-connections.ts'
import { createOffsetKeeper } from '#kernel/host/offset-keeper.ts'
import type { Running } from '#kernel/host/run-process.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { type CursorTable, openCursorTable } from './cursor-table.ts'
import { type Polled, performPoll } from './perform-poll.ts'
import { createPollAgenda, type PollAgenda } from './poll-agenda.ts'
import { createPollGates, type PollGates } from './poll-gates.ts'
import { decidePoll } from './rules/decide-poll.ts'
import { decideProbe, liveOf } from './rules/decide-probe.ts'
import {
  createObservationBook,
  type Observation,
  type Subscriber,
} from './rules/observation-book.ts'
import type { Decided } from './rules/poll-result.ts'
import { hasAsked, withPollCounted } from './rules/poll-usage.ts'
import { permissionOf } from './rules/refusal-of.ts'

export interface PollerWorld extends StepWorld {
  codec: RecordCodec
  tables: LiveTables
  directory: Directory
  mcp: McpConnections
  /** The bound on calls of a connector, shared with others in this process. */
  admit: Admit
  /** Uniform in 0 to 1. Default: `Math.random`. */
  random?(): number
  /** Told of every poll that was made. */
  onPoll?(poll: { outcome: string; items: number; lateMs: number }): void
}

/** Ms between two looks at what is due. */
const TICK_MS = 100
/** Ms between two looks for observations that nobody wants any more. */
const TIDY_EVERY_MS = 60_000
/** Deletions stay as documents this long; then a tombstone lets compaction forget them. */
const FORGET_MS = 30 * 86_400_000

interface Self {
  world: PollerWorld
  writer: string
  random(): number
  cursors: CursorTable
  agenda: PollAgenda
  gates: PollGates
  book: ReturnType<typeof createObservationBook>
  /** States of owned observations, newer than what was written where nothing was worth it. */
  states: Map<string, ObservationState>
  /** Keys under which a former owner wrote late. */
  late: Set<string>
  /** Keys whose last position may have been written, or not. */
  unsure: Set<string>
  partitions: number
  assigned: Set<number>
  polling: Map<string, Promise<void>>
  stopping: AbortController
}

/** Resolves once subscribed; polls begin with the first partition. */
export async function runPoller(world: PollerWorld): Promise<Running> {
  const self = await openPoller(world)
  const offsets = createOffsetKeeper(world)
  const consumption = await world.log.consume({
    group: 'mcp-poller',
    topics: ['cursors'],
    onAssigned: async partitions => {
      const all = new Set(partitions.map(({ partition }) => partition))
      self.assigned = self.assigned.intersection(all)
      forgetOthers(self)
      // What a former owner has written must be seen before anything is polled here.
      await self.cursors.barrier()
      self.assigned = all
    },
    handle: batch => offsets.finished(batch, (batch.records.at(-1)?.offset ?? -1) + 1),
  })
  const ticking = tick(self)
  return {
    async stop() {
      self.stopping.abort()
      // Polls under way are left alone: they write nothing any more, and may take long.
      await ticking
      await offsets.stop()
      await consumption.stop()
      await self.cursors.stop()
    },
  }
}

async function openPoller(world: PollerWorld): Promise<Self> {
  const { log, codec, ids, tables } = world
  const writer = ids.random().slice(0, 16)
  const random = world.random ?? Math.random
  const book = createObservationBook()
  const states = new Map<string, ObservationState>()
  const late = new Set<string>()
  const cursors = await openCursorTable({
    ...{ log, codec, writer },
    onForeign: (key, isLate) => {
      if (isLate) late.add(key)
      else states.delete(key)
    },
  })
  tables.onChange(({ document }) => {
    if (document.kind === 'subscription') book.update(document.doc as Subscription)
  })
  const ends = await log.endOffsets(['cursors'])
  return {
    ...{ world, writer, random, cursors, book, states, late, unsure: new Set<string>() },
    agenda: createPollAgenda({ random }),
    gates: createPollGates(world.admit),
    partitions: Math.max(1, ends.length),
    assigned: new Set(),
    polling: new Map(),
    stopping: new AbortController(),
  }
}

function isOwned(self: Self, key: string): boolean {
  return !self.stopping.signal.aborted && self.assigned.has(partitionOf(key, self.partitions))
}

function forgetOthers(self: Self): void {
  for (const key of self.states.keys()) if (!isOwned(self, key)) self.states.delete(key)
}

function stateOf(self: Self, key: string): ObservationState | undefined {
  const known = self.states.get(key)
  if (known) return known
  const written = self.cursors.get(key)
  return written && !written.deleted ? written.state : undefined
}

async function tick(self: Self): Promise<void> {
  const { clock, logger } = self.world
  let tidiedAt = clock.now()
  while (!self.stopping.signal.aborted) {
    await clock.sleep(TICK_MS, self.stopping.signal).catch(() => {})
    if (self.stopping.signal.aborted || self.assigned.size === 0) continue
    try {
      await rewriteLate(self)
      await pollDue(self)
      if (clock.now() - tidiedAt < TIDY_EVERY_MS) continue
      tidiedAt = clock.now()
      await tidy(self)
    } catch (error) {
      logger.warn({ step: 'mcp-poller', err: error }, 'polling paused; will be retried')
    }
  }
}

/** What a key is due for now. */
function dueFor(self: Self, observation: Observation): 'poll' | 'probe' | undefined {
  const { key } = observation
  if (self.polling.has(key) || !isOwned(self, key)) return undefined
  const state = stateOf(self, key)
  const now = self.world.clock.now()
  return self.agenda.due({ observation, live: liveOf(observation, state), state, now })
}

async function pollDue(self: Self): Promise<void> {
  const due = [...self.book.all()].filter(observation => dueFor(self, observation))
  if (due.length === 0) return
  // Tables caught up, and the policy known within the continuity: nothing revoked is polled.
  await self.world.gate()
  for (const { key } of due) {
    const observation = self.book.get(key)
    const what = observation && dueFor(self, observation)
    if (!observation || !what || !self.gates.enter(observation)) continue
    const done = makeSure(self, key)
      .then(() => (what === 'poll' ? poll : probe)(self, observation))
      .catch(error => {
        self.unsure.add(key)
        self.world.logger.warn({ step: 'mcp-poller', err: error }, 'poll not written; read again')
      })
      .finally(() => {
        self.gates.leave(observation)
        self.polling.delete(key)
      })
    self.polling.set(key, done)
  }
}

/**
 * An append that failed may have been written all the same. A first position that is found a second
 * time would pass what came in between, so what was written is looked at before anything is read.
 */
async function makeSure({ unsure, cursors, states }: Self, key: string): Promise<void> {
  if (!unsure.has(key)) return
  await cursors.barrier()
  states.delete(key)
  unsure.delete(key)
}

async function poll(self: Self, observation: Observation): Promise<void> {
  const { world, agenda } = self
  const { key } = observation
  const before = stateOf(self, key)
  const startedAt = world.clock.now()
  const lateMs = agenda.begin(key, startedAt)
  const result = await resultOf(self, observation, before)
  agenda.end(key, { now: world.clock.now(), ...result })
  const live = liveOf(observation, before)
  const decided = decidePoll(before, result, factsOf(self, observation, live))
  await write(self, observation, counted(self, { observation, live, result, decided }))
  const items = result.kind === 'answered' ? result.fresh.length : 0
  world.onPoll?.({ outcome: outcomeOf(result), items, lateMs })
}

function outcomeOf(result: Polled): string {
  if (result.kind === 'failed') return result.error
  return result.kind === 'refused' ? result.refusal : result.kind
}

interface Counted {
  observation: Observation
  live: readonly Subscriber[]
  result: Polled
  decided: Decided
}

function counted(self: Self, { observation, live, result, decided }: Counted): Decided {
  if (!hasAsked(result)) return decided
  const { world, cursors } = self
  return withPollCounted(decided, {
    ...{ observation, live, now: world.clock.now() },
    pollsBefore: cursors.get(observation.key)?.state.polls ?? 0,
    zone: world.directory.policy(observation.tenant).zone,
  })
}

function factsOf(self: Self, observation: Observation, live: ReturnType<typeof liveOf>) {
  const { world, writer } = self
  const connector = world.directory.connector(observation.tenant, observation.observe.connector)
  return { observation, live, connector, writer, now: world.clock.now() }
}

async function resultOf(
  self: Self,
  observation: Observation,
  before: ObservationState | undefined,
): Promise<Polled> {
  const { directory, mcp, clock } = self.world
  const { tenant, observe } = observation
  const connector = directory.connector(tenant, observe.connector)
  const permission = permissionOf(observation, connector, directory.policy(tenant))
  if (permission.kind !== 'permitted') return permission
  const { isPositioned = false, cursor = null, seen = [] } = before ?? {}
  const backfill = Math.max(0, ...liveOf(observation, before).map(each => each.backfill))
  const { random, gates } = self
  const admit = gates.admit
  return performPoll(
    { mcp, clock, random, admit },
    { ...permission, observation, backfill, position: { isPositioned, cursor, seen } },
  )
}

/** Asks a source whose dependents are suspended; its answer is looked at and thrown away. */
async function probe(self: Self, observation: Observation): Promise<void> {
  const { world, agenda } = self
  const before = stateOf(self, observation.key)
  if (!before) return
  agenda.begin(observation.key, world.clock.now())
  const result = await resultOf(self, observation, before)
  // A server whose operations can be listed answers; its hash is taken when polls go on.
  const isUp = result.kind === 'answered' || result.kind === 'unpinned'
  const error = isUp ? undefined : outcomeOf(result)
  const decided = decideProbe(before, error, factsOf(self, observation, []))
  agenda.end(observation.key, { now: world.clock.now() })
  await write(self, observation, counted(self, { observation, live: [], result, decided }))
  world.onPoll?.({ outcome: error ?? 'probed', items: 0, lateMs: 0 })
}

/** P1: everything else first, the position last. */
async function write(self: Self, observation: Observation, decided: Decided): Promise<void> {
  const { key, tenant } = observation
  const { outputs, state, isNews } = decided
  if (!isOwned(self, key)) return
  await append(self, outputs)
  if (isNews) {
    if (!isOwned(self, key)) return
    const { now } = self.world.clock
    await append(self, [self.cursors.next(tenant, state, { now: now() })])
  }
  self.states.set(key, state)
}

async function append({ world }: Self, outputs: Output[]): Promise<void> {
  if (outputs.length === 0) return
  await world.log.append(outputs.map(output => world.writer.encode(output)))
}

/** P3. Compaction keeps what lies last, so the newest must lie there again. */
async function rewriteLate(self: Self): Promise<void> {
  for (const key of self.late) {
    const observation = self.book.get(key)
    const state = stateOf(self, key)
    if (observation && state && isOwned(self, key)) {
      const now = self.world.clock.now()
      await append(self, [self.cursors.next(observation.tenant, state, { now })])
    }
    self.late.delete(key)
  }
}

/** Forgets observations that no subscription names any more. */
async function tidy(self: Self): Promise<void> {
  const { clock, gate } = self.world
  await gate()
  const now = clock.now()
  const outputs: Output[] = []
  for (const key of self.cursors.keys()) {
    if (!isOwned(self, key) || self.polling.has(key) || self.book.get(key)) continue
    const document = self.cursors.get(key)
    const tenant = decodeURIComponent(key.split('/')[0] ?? '')
    if (!document) continue
    const { state, deleted, updatedAt } = document
    self.states.delete(key)
    if (!deleted) {
      outputs.push(self.cursors.next(tenant, { ...state, seen: [] }, { now, deleted: true }))
    } else if (updatedAt < now - FORGET_MS) {
      outputs.push({ topic: 'cursors', key, id: `${state.id}/gone`, tenant, value: null })
    }
  }
  await append(self, outputs)
}
