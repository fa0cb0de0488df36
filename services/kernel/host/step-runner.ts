/**
 * Runs a stateful step on any log and store: reads batches, holds one `PartitionOwner` per
 * partition, and commits offsets last (I4). The same code serves Kafka and Redis, SQLite, and the
 * simulated world.
 */
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError, isAmbitError } from '#kernel/errors.ts'
import type { LogRecord, RecordBatch, TopicPartition } from '#kernel/ports/event-log.ts'
import type { Fence } from '#kernel/ports/state-store.ts'
import { deadLetterOutput } from './dead-letter.ts'
import { createLaneBook, type LaneBook } from './lane-book.ts'
import { createLateRecords, type LateRecords } from './late-records.ts'
import { createOffsetKeeper, type OffsetKeeper } from './offset-keeper.ts'
import { createPartitionOwner, NotOwner, type PartitionOwner } from './partition-owner.ts'
import { readJournalTail, rebuildTenant } from './rebuild.ts'
import { reassertTopicsOf, type Step, type StepItem } from './step.ts'
import type { StepWorld } from './step-world.ts'
import { createTenantCensus, type TenantCensus } from './tenant-census.ts'

export interface RunningStep {
  stop(): Promise<void>
}

/** Ms between two looks at due queues. */
const DUE_EVERY_MS = 50
/** Ms between two comparisons of fences with the store. */
const CHECK_EVERY_MS = 1000

/** Late records of a former owner are rare: ms between two looks for them. */
const WATCH_PACE_MS = 250

interface Self<T> {
  step: Step<T>
  world: StepWorld
  owners: Map<number, PartitionOwner>
  /** Fences that were acknowledged to this process, by partition and tenant. */
  seen: Map<number, Map<string, Fence>>
  /** What the log says of tenants; it only grows, so a lost partition loses nothing by it. */
  censuses: Map<number, TenantCensus>
  /** Partitions that the log gave to this process. */
  assigned: Set<number>
  offsets: OffsetKeeper
  late: LateRecords
  /** Where the step works its items off in lanes. */
  lanes: LaneBook<T> | undefined
  isStopped: boolean
}

/** Starts consuming; resolves once subscribed. */
export async function runStep<T>(step: Step<T>, world: StepWorld): Promise<RunningStep> {
  const self: Self<T> = {
    step,
    world,
    owners: new Map(),
    seen: new Map(),
    censuses: new Map(),
    assigned: new Set(),
    offsets: createOffsetKeeper(world),
    late: createLateRecords(step),
    lanes: undefined,
    isStopped: false,
  }
  self.lanes = openLanes(self)
  // First, so that nothing falls between the tail that an assignment reads and what is watched.
  const watching = await watchTables(self)
  const consumption = await world.log.consume({
    group: step.name,
    topics: step.topics,
    batchMax: world.batchMax,
    onAssigned: partitions => assign(self, partitions),
    onHandOver: async () => self.lanes?.pause(),
    handle: batch => handle(self, batch),
  })
  const ticking = tick(self)
  return {
    async stop() {
      await self.lanes?.stop()
      self.isStopped = true
      await self.offsets.stop()
      await consumption.stop()
      await watching?.stop()
      await ticking
    },
  }
}

/**
 * Only `adopt` makes owners: one that has not heard from the log would take a store that lost
 * commits for whole. An owner may be dropped at any await, so that none is there right after it.
 */
function ownerOf<T>(self: Self<T>, partition: number): PartitionOwner {
  const known = self.owners.get(partition)
  if (known) return known
  throw new NotOwner(`${self.step.name}/${partition}`)
}

function makeOwner<T>(self: Self<T>, partition: number): PartitionOwner {
  const { step, world } = self
  const seen = self.seen.get(partition) ?? new Map<string, Fence>()
  self.seen.set(partition, seen)
  const owner = createPartitionOwner(step, partition, {
    ...world,
    seen,
    rebuild: (p, tenant, fence) =>
      rebuildTenant(step, world, { partition: p, tenant, fence, census: censusOf(self, p) }),
  })
  self.owners.set(partition, owner)
  return owner
}

/** Lanes commit through the owner of their partition, which may have been lost in between. */
function openLanes<T>(self: Self<T>): LaneBook<T> | undefined {
  const { step, world, offsets } = self
  if (!step.lanes) return undefined
  return createLaneBook({
    ...{ lanes: step.lanes, clock: world.clock, logger: world.logger, offsets },
    async commit(partition, { isOwned, ...work }) {
      await adopt(self)
      const isMine = () => isOwned() && self.assigned.has(partition)
      try {
        await ownerOf(self, partition).run({ ...work, isOwned: isMine })
      } catch (error) {
        if (error instanceof NotOwner) self.owners.delete(partition)
        throw error
      }
    },
  })
}

function censusOf<T>(self: Self<T>, partition: number): TenantCensus {
  const topics = self.step.rebuild?.sources.map(({ topic }) => topic) ?? []
  const census =
    self.censuses.get(partition) ?? createTenantCensus(self.world.log, topics, partition)
  self.censuses.set(partition, census)
  return census
}

/** Drops what was taken away; takes over fences, outboxes and due entries of what is new. */
async function assign<T>(self: Self<T>, partitions: TopicPartition[]): Promise<void> {
  self.assigned = new Set(partitions.map(({ partition }) => partition))
  for (const partition of self.owners.keys()) {
    if (!self.assigned.has(partition)) self.owners.delete(partition)
  }
  self.lanes?.keep(self.assigned)
  await adopt(self)
}

/** Becomes the owner of assigned partitions that have none here, also after a fence was lost. */
async function adopt<T>(self: Self<T>): Promise<void> {
  const fresh = [...self.assigned].filter(partition => !self.owners.has(partition))
  if (fresh.length === 0) return
  const tail = await readJournalTail(self.step, self.world, fresh)
  for (const partition of fresh) {
    // Somebody else was faster, and knows at least as much.
    if (self.owners.has(partition)) continue
    const owner = makeOwner(self, partition)
    for (const logged of tail.filter(each => each.partition === partition)) {
      owner.compareWithLog(logged)
      self.late.found(owner, logged)
    }
    for (const tenant of self.world.knownTenants()) {
      await owner.acquire(tenant).catch(error => logFailure(self, error, 'acquire'))
    }
  }
}

function logFailure<T>(self: Self<T>, error: unknown, what: string): void {
  if (error instanceof NotOwner) return
  self.world.logger.warn({ step: self.step.name, err: error }, `${what} failed; will be retried`)
}

async function handle<T>(self: Self<T>, batch: RecordBatch): Promise<void> {
  const { step, world } = self
  const next = (batch.records.at(-1)?.offset ?? -1) + 1
  try {
    await adopt(self)
    await world.gate()
    const { items, poison } = readAll(step, batch.records)
    if (poison.length > 0) {
      await world.log.append(poison.map(p => world.writer.encode(deadLetterOutput(p, world.clock))))
    }
    if (self.lanes) return await self.lanes.take(batch, items)
    await step.prepare?.(items)
    const groups = [...groupByTenant(items)]
    for (const [at, [tenant, group]] of groups.entries()) {
      const isLast = at === groups.length - 1
      await ownerOf(self, batch.partition).run({
        tenant,
        hints: mergeHints(step, group, world.clock.now()),
        decide: unit => {
          for (const item of group) step.decide(traced(unit, item.record), item)
        },
        isOwned: () => batch.isOwned() && !self.isStopped,
        offset: isLast ? offsetOf(step, batch, next) : undefined,
      })
      await batch.heartbeat()
    }
    if (groups.length > 0 && world.store.atomicWithLog) return
    await self.offsets.finished(batch, next)
  } catch (error) {
    if (!(error instanceof NotOwner)) throw error
    self.owners.delete(batch.partition)
    if (batch.isOwned()) {
      // The fence was taken while the log still calls us owner: come back as a new owner.
      throw new AmbitError('conflict', `The fence of ${step.name}/${batch.partition} moved.`)
    }
  }
}

export interface Poison {
  record: LogRecord
  error: unknown
}

function readAll<T>(step: Step<T>, records: LogRecord[]) {
  const items: StepItem<T>[] = []
  const poison: Poison[] = []
  for (const record of records) {
    try {
      const read = step.read(record)
      if (read) items.push({ ...read, record })
    } catch (error) {
      // A schema that is still being fetched makes no poison: the batch comes again.
      if (isAmbitError(error) && error.code === 'not-ready') throw error
      poison.push({ record, error })
    }
  }
  return { items, poison }
}

/** Outputs carry the trace context of the record that caused them (W3C Trace Context). */
function traced(unit: UnitOfWork, { headers }: LogRecord): UnitOfWork {
  if (!headers.ce_traceparent) return unit
  const traceparent = Buffer.from(headers.ce_traceparent).toString()
  return { ...unit, emit: output => unit.emit({ traceparent, ...output }) }
}

function offsetOf<T>(step: Step<T>, { topic, partition }: RecordBatch, offset: number) {
  return { group: step.name, topic, partition, offset }
}

function groupByTenant<T>(items: StepItem<T>[]): Map<string, StepItem<T>[]> {
  return Map.groupBy(items, item => item.tenant)
}

function mergeHints<T>(step: Step<T>, items: StepItem<T>[], now: number) {
  const documents = new Set<string>()
  const counters = new Set<string>()
  for (const item of items) {
    const hints = step.hints(item, now)
    for (const key of hints.documents) documents.add(key)
    for (const name of hints.counters) counters.add(name)
  }
  return { documents: [...documents], counters: [...counters] }
}

async function tick<T>(self: Self<T>): Promise<void> {
  const { clock } = self.world
  let sinceCheck = 0
  while (!self.isStopped) {
    await clock.sleep(DUE_EVERY_MS)
    sinceCheck += DUE_EVERY_MS
    const isCheck = sinceCheck >= CHECK_EVERY_MS
    if (isCheck) sinceCheck = 0
    if (isCheck) await adopt(self).catch(error => logFailure(self, error, 'taking over'))
    for (const owner of [...self.owners.values()]) {
      if (self.isStopped) return
      try {
        if (isCheck) await owner.check()
        if (isCheck) await self.late.repair(owner)
        if (self.step.decideDue) {
          await owner.runDue()
        }
      } catch (error) {
        if (error instanceof NotOwner) self.owners.delete(owner.partition)
        else logFailure(self, error, 'due work')
      }
    }
  }
}

/** Hears late records of former owners; `tick` repairs what they overtook (F28). */
async function watchTables<T>(self: Self<T>) {
  const { step, world } = self
  const topics = reassertTopicsOf(step)
  if (topics.length === 0 || world.store.atomicWithLog) return undefined
  return world.log.follow({
    topics,
    from: 'end',
    paceMs: WATCH_PACE_MS,
    onRecords: records => {
      for (const record of records) {
        const owner = self.owners.get(record.partition)
        if (owner) self.late.heard(owner, record)
      }
    },
  })
}
