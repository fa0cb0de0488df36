/**
 * A step that only counts, in memory: for tests of the host around a step. Records are JSON, so
 * that a test can write them by hand; the log and the store fail where a test says so.
 */
import assert from 'node:assert/strict'
import { createMemoryEventLog, type LogCall } from '#kernel/adapters/memory/memory-event-log.ts'
import {
  createMemoryStateStore,
  type StoreCall,
} from '#kernel/adapters/memory/memory-state-store.ts'
import type { TopicName } from '#kernel/domain/topic-name.ts'
import type { Output, UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import { OWN_QUEUE, type Step } from '#kernel/host/step.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import type { LogRecord, OutgoingRecord } from '#kernel/ports/event-log.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'

export const TENANT = 'acme'
export const START = 1_700_000_000_000
/** What the step reads and writes. */
export const INPUT = 'candidates' satisfies TopicName
export const JOURNAL = 'decisions' satisfies TopicName

/** What a record of the input says. */
export interface Tick {
  tenant: string
  id: string
  /** Also make a due entry at this instant. */
  dueAt?: number
}

/** Values of records are JSON; headers are what tests look at. */
export const jsonWriter: RecordWriter = {
  encode: ({ topic, key, id, tenant, value, traceparent }, extra) => ({
    topic,
    key,
    value: value === null ? null : Buffer.from(JSON.stringify(value)),
    headers: {
      ...{ ce_id: id, ce_tenant: tenant },
      ...(traceparent ? { ce_traceparent: traceparent } : {}),
      ...extra,
    },
  }),
}

export function jsonOf<T>(record: LogRecord): T {
  return JSON.parse(Buffer.from(record.value ?? []).toString()) as T
}

export const tick = (tick: Partial<Tick> & { id: string }): OutgoingRecord => ({
  topic: INPUT,
  key: tick.tenant ?? TENANT,
  value: Buffer.from(JSON.stringify({ tenant: TENANT, ...tick })),
})

const output = (tenant: string, id: string, count: number): Output => ({
  ...{ topic: JOURNAL, key: 'tally', id, tenant },
  value: { id, count },
})

/** Counts what it has seen once; the count and the ids are in the journal too. */
export function countOnce(unit: UnitOfWork, { tenant, id, dueAt }: Tick): void {
  if (unit.get(`seen/${id}`)) return
  unit.put(`seen/${id}`, true)
  const count = (unit.get<number>('tally') ?? 0) + 1
  unit.put('tally', count)
  if (dueAt !== undefined) unit.due(OWN_QUEUE, id, dueAt)
  unit.emit(output(tenant, id, count))
}

/** The step; `over` replaces parts of it. */
export function countingStep(over: Partial<Step<Tick>> = {}): Step<Tick> {
  return {
    name: 'counting',
    topics: [INPUT],
    read(record) {
      const value = jsonOf<Tick | null>(record)
      return value && { tenant: value.tenant, value }
    },
    hints: ({ value }) => ({ documents: ['tally', `seen/${value.id}`], counters: [] }),
    decide: (unit, { value }) => countOnce(unit, value),
    journal: JOURNAL,
    rebuild: {
      sources: [{ topic: JOURNAL }],
      fold(restored, record) {
        const { id, count } = jsonOf<{ id: string; count: number }>(record)
        const tenant = Buffer.from(record.headers.ce_tenant ?? []).toString()
        const { documents } = restored(tenant)
        documents.set(`seen/${id}`, { version: 1, value: true })
        // A record may lie in the log twice, the second time behind later ones.
        if (count <= (documents.get('tally')?.version ?? 0)) return
        documents.set('tally', { version: count, value: count })
      },
    },
    ...over,
  }
}

/** Faults by name; each is asked before or after every call of its kind, and throws to fail it. */
export interface Faults {
  beforeLog?(call: LogCall): void | Promise<void>
  beforeStore?(call: StoreCall): void | Promise<void>
  afterStore?(call: StoreCall): void | Promise<void>
}

export interface StepBench {
  clock: ManualClock
  log: ReturnType<typeof createMemoryEventLog>
  store: ReturnType<typeof createMemoryStateStore>
  faults: Faults
  /** What a receiver of the journal understands: repeats of an id are left out. */
  journal(): { id: string; count: number }[]
  /** A process of its own; after `crash` none of its calls is answered. */
  world(name: string, over?: Partial<StepWorld>): StepWorld & { crash(): void }
}

export function createStepBench({ isAtomic = false, partitions = 1 } = {}): StepBench {
  const clock = createManualClock(START)
  const faults: Faults = {}
  const log = createMemoryEventLog({
    clock,
    partitions: () => partitions,
    hooks: { before: call => faults.beforeLog?.(call) },
  })
  const store = createMemoryStateStore({
    now: () => clock.now(),
    log: isAtomic ? log : undefined,
    hooks: {
      before: call => faults.beforeStore?.(call),
      after: call => faults.afterStore?.(call),
    },
  })
  let randoms = 0
  return {
    ...{ clock, log, store, faults },
    journal: () => distinct(log.records(JOURNAL)),
    world(name, over = {}) {
      const own = { log: log.open(name), store: store.open(name) }
      return {
        ...{ ...own, clock, logger: silentLogger, writer: jsonWriter },
        ids: { random: () => String(++randoms).padStart(32, '0') },
        gate: async () => {},
        knownTenants: () => [],
        crash() {
          own.log.crash()
          own.store.crash()
        },
        ...over,
      }
    },
  }
}

function distinct(records: LogRecord[]): { id: string; count: number }[] {
  const first = new Map<string, { id: string; count: number }>()
  for (const record of records) {
    const id = Buffer.from(record.headers.ce_id ?? []).toString()
    const value = jsonOf<{ id: string; count: number }>(record)
    assert.deepEqual(value, first.get(id) ?? value, `${id} was decided twice`)
    if (!first.has(id)) first.set(id, value)
  }
  return [...first.values()]
}

/** A fault that happens so many times and then no more. */
export function failing(times: number, code: 'log-unavailable' | 'store-unavailable') {
  let left = times
  return (): void => {
    if (left <= 0) return
    left -= 1
    throw new AmbitError(code, 'a planted fault')
  }
}
