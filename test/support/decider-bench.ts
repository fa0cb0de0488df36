/** Runs deciders on a store that is a few maps: given documents, when decided, then changes. */
import {
  createUnitOfWork,
  NotLoaded,
  type Output,
  type UnitOfWork,
} from '#kernel/domain/unit-of-work.ts'

export interface DeciderBench {
  /** The store's time; tests move it. */
  now: number
  readonly outputs: Output[]
  /** Queue entries as `id → at`, by queue. */
  due(queue: string): Map<string, number>
  document<T>(key: string): T | undefined
  /** Decides and applies, loading what is asked for; nothing is applied when it throws. */
  run<T>(decide: (unit: UnitOfWork) => T): T
  /** Values of the outputs of one topic, in order. */
  emitted<T>(topic: string): T[]
}

export function createDeciderBench(tenant: string, now: number): DeciderBench {
  const documents = new Map<string, { version: number; body: string }>()
  const counters = new Map<string, number>()
  const queues = new Map<string, Map<string, number>>()
  const outputs: Output[] = []
  const queueNamed = (name: string) => {
    const queue = queues.get(name) ?? new Map<string, number>()
    queues.set(name, queue)
    return queue
  }
  const bench: DeciderBench = {
    now,
    outputs,
    due: queueNamed,
    document: <T>(key: string) => {
      const found = documents.get(key)
      return found && (JSON.parse(found.body) as T)
    },
    run(decide) {
      const asked = { documents: new Set<string>(), counters: new Set<string>() }
      for (;;) {
        const loaded = { now: bench.now, documents, counters }
        const { unit, changes } = createUnitOfWork(tenant, asked, loaded)
        try {
          const value = decide(unit)
          const { put, due, add, outputs: made } = changes()
          for (const { key, version, body } of put) {
            if (body === null) documents.delete(key)
            else documents.set(key, { version, body })
          }
          for (const { queue, id, at } of due) {
            if (at === null) queueNamed(queue).delete(id)
            else queueNamed(queue).set(id, at)
          }
          for (const { counter, amount } of add) {
            counters.set(counter, (counters.get(counter) ?? 0) + amount)
          }
          outputs.push(...made)
          return value
        } catch (error) {
          if (!(error instanceof NotLoaded)) throw error
          for (const key of error.documents) asked.documents.add(key)
          for (const name of error.counters) asked.counters.add(name)
        }
      }
    },
    emitted: <T>(topic: string) =>
      outputs.filter(output => output.topic === topic).map(({ value }) => value as T),
  }
  return bench
}
