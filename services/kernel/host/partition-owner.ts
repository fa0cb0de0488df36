/**
 * Owns one partition of one step: its fences (one per tenant), outboxes and due queue.
 *
 * I own: the order commit → append → clear, the fence's epoch and seq, drains and rebuilds.
 * I leave to others: reading batches and committing offsets (`step-runner.ts`), deciding (step).
 *
 * - O1 One thing at a time: batches, due entries and checks of a partition never overlap.
 * - O2 Nothing is appended that was not committed under the current fence.
 * - O3 Before anything new is decided for a tenant, what its outbox still holds was appended.
 * - O4 A store that lost commits is noticed at the next commit or check, and rebuilt from the log
 *   before going on (I5).
 */
import type { Output, UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { EventLog, OutgoingRecord } from '#kernel/ports/event-log.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { Commit, DocumentPut, Fence, StateStore } from '#kernel/ports/state-store.ts'
import { isOlder, isOver } from './fence-order.ts'
import { decodeOutbox, encodeOutbox } from './outbox.ts'
import type { LoggedFence } from './rebuild.ts'
import type { RecordWriter } from './record-writer.ts'
import { FENCE_HEADER, OWN_QUEUE, type Step } from './step.ts'
import { type Hints, runTransaction } from './transaction.ts'

/** Incarnation of a store that nobody has filled yet. */
export const UNBUILT = 'unbuilt'

/** Thrown when another process has taken the partition; the batch is left to it. */
export class NotOwner extends Error {
  constructor(name: string) {
    super(`another owner holds ${name}`)
    this.name = 'NotOwner'
  }
}

interface TenantState {
  fence: Fence
  /** Outbox entry whose outputs were appended; cleared by the next commit. */
  uncleared: string | null
  /** Committed outputs whose append has not succeeded yet (O3). */
  pending: { id: string; records: OutgoingRecord[] } | null
  hasDue: boolean
}

export interface OwnerWorld {
  log: EventLog
  store: StateStore
  writer: RecordWriter
  ids: Ids
  logger: Logger
  /**
   * The newest fence of each tenant that was acknowledged to this process. It outlives an owner: a
   * former tenure that appended nothing is in no log, and a store that comes back to it must not
   * seem newer than what was rebuilt since.
   */
  seen: Map<string, Fence>
  /** Rebuilds documents of the tenant under the given fence; answers the fence afterwards. */
  rebuild(partition: number, tenant: string, fence: Fence): Promise<Fence>
}

interface Self<T> {
  step: Step<T>
  partition: number
  world: OwnerWorld
  states: Map<string, TenantState>
  /** Tenants that were asked for; one whose state was dropped is taken over again by `check`. */
  wanted: Set<string>
  /** What the log said when the partition came here. */
  logged: Map<string, LoggedFence>
  /** Tenants whose store is known to have lost commits. */
  lost: Set<string>
  checks: number
  name: string
  fenceKey: string
  outbox: string
  queue: string
}

export interface PartitionOwner {
  readonly partition: number
  /** Tenants that were seen here. */
  tenants(): string[]
  /** Takes the tenant's fence, drains its outbox, and rebuilds where the store was lost. */
  acquire(tenant: string): Promise<void>
  /** Decides and makes durable; resolves when all outputs are appended. */
  run(work: Work): Promise<void>
  /** Decides what is due; answers false when nothing is waiting any more. */
  runDue(): Promise<void>
  /** Takes over again what a failure dropped, and compares fences with the store (O4). */
  check(): Promise<void>
  /** Tells the owner that the journal knows of later commits than the store (O4). */
  compareWithLog(logged: LoggedFence): void
  /** The newest epoch known of a tenant: its own, or a former owner's before it took the fence. */
  epochOf(tenant: string): number
}

export interface Work {
  tenant: string
  hints: Hints
  decide(unit: UnitOfWork): void
  isOwned(): boolean
  offset?: Commit['offset']
}

export function createPartitionOwner<T>(
  step: Step<T>,
  partition: number,
  world: OwnerWorld,
): PartitionOwner {
  const name = `${step.name}/${partition}`
  const self: Self<T> = {
    step,
    partition,
    world,
    states: new Map(),
    wanted: new Set(),
    logged: new Map(),
    lost: new Set(),
    checks: 0,
    name,
    fenceKey: `fence/${name}`,
    outbox: `outbox/${name}`,
    queue: `due/${name}`,
  }
  let tail: Promise<unknown> = Promise.resolve()
  const serial = <R>(work: () => Promise<R>): Promise<R> => {
    const next = tail.then(work, work)
    tail = next.catch(() => {})
    return next
  }
  return {
    partition,
    tenants: () => [...self.states.keys()],
    acquire: tenant => serial(async () => void (await acquire(self, tenant))),
    run: work => serial(() => run(self, work)),
    runDue: () => serial(() => runDue(self)),
    check: () => serial(() => check(self)),
    compareWithLog: logged => {
      self.logged.set(logged.tenant, logged)
      self.states.delete(logged.tenant)
    },
    epochOf: tenant => newestEpoch(self, tenant, 0),
  }
}

async function acquire<T>(self: Self<T>, tenant: string): Promise<TenantState> {
  const known = self.states.get(tenant)
  if (known) return known
  self.wanted.add(tenant)
  const { key, found } = await readFence(self, tenant)
  const isBehind =
    isOlder(found, self.world.seen.get(tenant)) || isOver(found, self.logged.get(tenant))
  const isLost = found.incarnation === UNBUILT || isBehind || self.lost.has(tenant)
  let fence = await take(self, tenant, {
    key,
    incarnation: isLost ? UNBUILT : found.incarnation,
    epoch: newestEpoch(self, tenant, found.epoch) + 1,
    seq: isLost ? 0 : found.seq,
  })
  await drain(self, tenant)
  if (isLost) fence = await rebuildUnder(self, tenant, fence)
  if (!(await isMarked(self, tenant, fence))) {
    self.lost.add(tenant)
    throw new AmbitError(
      'store-unavailable',
      `The store of ${self.name} changed while it was taken.`,
    )
  }
  const state: TenantState = { fence, uncleared: null, pending: null, hasDue: true }
  self.states.set(tenant, state)
  self.world.seen.set(tenant, fence)
  return state
}

async function rebuildUnder<T>(self: Self<T>, tenant: string, fence: Fence): Promise<Fence> {
  const { store, ids, rebuild } = self.world
  const built = await rebuild(self.partition, tenant, fence)
  const incarnation = ids.random()
  const next: Fence = { key: fence.key, incarnation, epoch: built.epoch + 1, seq: 0 }
  const marked = await store.commit({ tenant, fence: built, put: [markOf(self, next)] })
  if (marked.kind !== 'ok') throw new NotOwner(self.name)
  await take(self, tenant, next)
  self.lost.delete(tenant)
  self.logged.get(tenant)?.signs.clear()
  return next
}

/**
 * The mark lies among the data and says what its fence must be: a fence that was taken on a store
 * which had just been emptied or rolled back finds another one, or none.
 */
function markOf<T>(self: Self<T>, { incarnation, seq }: Pick<Fence, 'incarnation' | 'seq'>) {
  return { key: `mark/${self.name}`, version: seq + 1, body: JSON.stringify(incarnation) }
}

async function isMarked<T>(self: Self<T>, tenant: string, fence: Fence): Promise<boolean> {
  const { store } = self.world
  if (store.atomicWithLog) return true
  const { key, version, body } = markOf(self, fence)
  const found = (await store.load({ tenant, documents: [key] })).documents.get(key)
  return found?.version === version && found.body === body
}

/** Epochs go on growing after a flush, so that what was before it stays the past. */
function newestEpoch<T>({ world, logged }: Self<T>, tenant: string, found: number): number {
  return Math.max(found, world.seen.get(tenant)?.epoch ?? 0, logged.get(tenant)?.epoch ?? 0)
}

/** What the store holds; writes the mark `UNBUILT` where it holds nothing. */
async function readFence<T>(self: Self<T>, tenant: string) {
  const blank: Fence = { key: self.fenceKey, incarnation: UNBUILT, epoch: 0, seq: 0 }
  const { stored } = await self.world.store.takeFence(tenant, blank)
  return { key: self.fenceKey, found: stored ?? blank }
}

async function take<T>(self: Self<T>, tenant: string, fence: Fence): Promise<Fence> {
  const { taken } = await self.world.store.takeFence(tenant, fence)
  if (!taken) throw new NotOwner(self.name)
  return fence
}

/** Appends what former commits left in the outbox, then forgets it (O3). */
async function drain<T>(self: Self<T>, tenant: string): Promise<void> {
  const { store } = self.world
  if (store.atomicWithLog) return
  const entries = await store.readOutbox(tenant, self.outbox)
  for (const entry of entries) await appendInOrder(self, decodeOutbox(entry.body))
  const clear = entries.map(({ id }) => ({ outbox: self.outbox, id }))
  if (clear.length > 0) await store.commit({ tenant, clear })
}

async function appendInOrder<T>(self: Self<T>, records: OutgoingRecord[]): Promise<void> {
  const last = self.step.lastTopics ?? []
  const rounds = [
    records.filter(({ topic }) => !last.includes(topic)),
    ...last.map(topic => records.filter(record => record.topic === topic)),
  ]
  for (const round of rounds) if (round.length > 0) await self.world.log.append(round)
}

async function flushPending<T>(self: Self<T>, state: TenantState): Promise<void> {
  if (!state.pending) return
  await appendInOrder(self, state.pending.records)
  state.uncleared = state.pending.id
  state.pending = null
}

const entryId = (seq: number) => String(seq).padStart(15, '0')

interface Shaped {
  records: OutgoingRecord[]
  part: Pick<Commit, 'append' | 'offset' | 'clear' | 'outbox'>
  /** The mark that belongs to the commit, where there is one. */
  put: DocumentPut[]
}

/** The half of a commit that carries outputs: in the same transaction, or through the outbox. */
function shape<T>(self: Self<T>, state: TenantState, work: Work, outputs: Output[]): Shaped {
  const { fence, uncleared } = state
  const { store, writer } = self.world
  const signature = `${fence.incarnation} ${fence.epoch} ${fence.seq + 1} ${self.name}`
  const records = outputs.map(output => writer.encode(output, { [FENCE_HEADER]: signature }))
  if (store.atomicWithLog) {
    return { records, part: { append: records, offset: work.offset }, put: [] }
  }
  const { outbox } = self
  const clear = uncleared ? [{ outbox, id: uncleared }] : []
  const id = entryId(fence.seq + 1)
  const entries = records.length > 0 ? [{ outbox, id, body: encodeOutbox(records) }] : []
  const { incarnation } = fence
  const put = [markOf(self, { incarnation, seq: fence.seq + 1 })]
  return { records, part: { clear, outbox: entries }, put }
}

/** The store does not hold what this owner last acknowledged: adopt, leave, or rebuild. */
function recover<T>(
  self: Self<T>,
  tenant: string,
  found: { incarnation: string; epoch: number; seq: number } | null,
): void {
  const mine = self.states.get(tenant)?.fence
  self.states.delete(tenant)
  if (!found || !mine || found.incarnation === UNBUILT) return
  if (found.epoch > mine.epoch) throw new NotOwner(self.name)
  const isSame = found.incarnation === mine.incarnation && found.epoch === mine.epoch
  // A commit whose answer was lost took effect: its outbox is drained at the next acquire.
  if (isSame && found.seq > mine.seq) return
  self.world.logger.warn({ tenant, step: self.name, found, mine }, 'the store lost commits')
  self.lost.add(tenant)
}

/** Tries of one run through lost fences before the batch is given back to the log. */
const RECOVERIES_MAX = 5

async function run<T>(self: Self<T>, work: Work): Promise<void> {
  for (let tries = 0; tries < RECOVERIES_MAX; tries++) {
    const state = await acquire(self, work.tenant)
    await flushPending(self, state)
    const { result, records } = await commitOnce(self, state, work)
    if (result.kind === 'lost') {
      recover(self, work.tenant, result.found)
      continue
    }
    const id = entryId(state.fence.seq + 1)
    state.fence = { ...state.fence, seq: state.fence.seq + 1 }
    self.world.seen.set(work.tenant, state.fence)
    state.uncleared = null
    const { due, outputs } = result.changes
    self.step.committed?.(outputs)
    if (due.some(d => d.queue === OWN_QUEUE && d.at !== null)) state.hasDue = true
    if (self.world.store.atomicWithLog || records.length === 0) return
    state.pending = { id, records }
    if (!work.isOwned()) throw new NotOwner(self.name)
    return flushPending(self, state)
  }
  throw new AmbitError('store-unavailable', `The state of ${self.name} could not be recovered.`)
}

async function commitOnce<T>(self: Self<T>, state: TenantState, work: Work) {
  let records: OutgoingRecord[] = []
  const { queue, name } = self
  const result = await runTransaction({
    store: self.world.store,
    tenant: work.tenant,
    hints: work.hints,
    field: name,
    decide: work.decide,
    beforeTry: () => {
      if (!work.isOwned()) throw new NotOwner(name)
    },
    shape: changes => {
      const shaped = shape(self, state, work, changes.outputs)
      records = shaped.records
      const due = changes.due.map(d => (d.queue === OWN_QUEUE ? { ...d, queue } : d))
      return { fence: state.fence, due, ...shaped.part, put: [...changes.put, ...shaped.put] }
    },
  }).catch((error: unknown) => {
    // Whether it happened is unknown: learn the fence anew before anything else.
    self.states.delete(work.tenant)
    throw error
  })
  return { result, records }
}

async function runDue<T>(self: Self<T>): Promise<void> {
  const { decideDue, dueHints } = self.step
  if (!decideDue) return
  for (const [tenant, state] of [...self.states]) {
    if (!state.hasDue) continue
    const { due, next } = await self.world.store.peekDue(tenant, self.queue, 50)
    state.hasDue = due.length > 0 || next !== undefined
    for (const entry of due) {
      await run(self, {
        tenant,
        hints: dueHints?.(entry, tenant) ?? { documents: [], counters: [] },
        decide: unit => decideDue(unit, entry),
        isOwned: () => true,
      })
    }
  }
}

/**
 * Checks between two looks at due queues that were found empty: a store that was emptied and came
 * back between two checks shows nothing of it but an empty queue in between.
 */
const LOOK_AGAIN_EVERY = 30

async function check<T>(self: Self<T>): Promise<void> {
  self.checks += 1
  const isLookedAt = self.checks % LOOK_AGAIN_EVERY === 0
  // What waits in outboxes and due queues does not wait for the tenant's next record.
  for (const tenant of self.wanted) await flushPending(self, await acquire(self, tenant))
  if (self.world.store.atomicWithLog) return
  for (const [tenant, state] of [...self.states]) {
    const { fence } = state
    if (isLookedAt) state.hasDue = true
    const { found } = await readFence(self, tenant)
    const { incarnation, epoch, seq } = fence
    const fits = found.incarnation === incarnation && found.epoch === epoch && found.seq === seq
    if (fits) continue
    recover(self, tenant, found)
    await acquire(self, tenant)
  }
}
