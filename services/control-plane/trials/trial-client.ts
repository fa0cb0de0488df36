/**
 * Asks for dry runs through `trials` and waits for their results. What a replica knows of them it
 * knows from `trials.results` alone, so that all replicas tell the same.
 *
 * - T1 The first end stands: what comes after it changes nothing.
 */
import { tenantKey } from '#kernel/domain/ids.ts'
import { readable } from '#kernel/domain/readable.ts'
import type { OpenTrial } from '#kernel/domain/trial.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { TrialResult } from '#schemas/generated/records.ts'

const ENDS: ReadonlySet<string> = new Set(['done', 'failed', 'cancelled'])
/** Results kept for callers who ask later; those of backtests last. */
const RESULTS_MAX = 1000
/** How far back results are read at a start, ms. */
const RESULTS_AGE_MS = 86_400_000

export interface TrialClient {
  /** Starts a dry run; resolves when it is durable. */
  start(trial: OpenTrial): Promise<void>
  /** The result, or `undefined` when it did not come in time. */
  wait(id: string, timeoutMs: number, signal?: AbortSignal): Promise<TrialResult | undefined>
  /** Tells every replica what became of a backtest; `resultOf` knows it when this resolves. */
  publish(result: TrialResult): Promise<void>
  /** The newest result of a tenant's dry run. */
  resultOf(tenant: string, id: string): TrialResult | undefined
  stop(): Promise<void>
}

export interface TrialClientWorld {
  log: EventLog
  codec: RecordCodec
  writer: RecordWriter
  clock: Clock
}

/** Resolves once results are being followed. */
export async function createTrialClient(world: TrialClientWorld): Promise<TrialClient> {
  const { log, codec, writer, clock } = world
  const results = new Map<string, TrialResult>()
  const waiting = new Map<string, Set<(result: TrialResult) => void>>()
  const note = (result: TrialResult) => {
    if (ENDS.has(results.get(result.id)?.state ?? '')) return
    results.delete(result.id)
    if (results.size >= RESULTS_MAX) results.delete(leastMissed(results))
    results.set(result.id, result)
    for (const tell of waiting.get(result.id) ?? []) tell(result)
  }
  const following = await log.follow({
    topics: ['trials.results'],
    from: { sinceMs: clock.now() - RESULTS_AGE_MS },
    onRecords: records => {
      for (const { value } of records) {
        const result = value && readable(() => codec.decode('trial-result', value))
        if (result) note(result)
      }
    },
  })
  return {
    async start(trial) {
      const { tenant, id, stage } = trial
      const key = tenantKey(tenant, id)
      const output = { topic: 'trials' as const, key, id: `${id}-${stage}`, tenant, value: trial }
      await log.append([writer.encode(output)])
    },
    async publish(result) {
      const { tenant, id } = result
      const key = tenantKey(tenant, id)
      await log.append([writer.encode({ topic: 'trials.results', key, id, tenant, value: result })])
      await following.barrier()
    },
    async wait(id, timeoutMs, signal) {
      const known = results.get(id)
      if (known) return known
      const { promise, resolve } = Promise.withResolvers<TrialResult | undefined>()
      const callers = waiting.get(id) ?? new Set()
      waiting.set(id, callers.add(resolve))
      const patience = new AbortController()
      const ends = signal ? AbortSignal.any([patience.signal, signal]) : patience.signal
      clock.sleep(timeoutMs, ends).then(
        () => resolve(undefined),
        () => resolve(undefined),
      )
      try {
        return await promise
      } finally {
        patience.abort()
        callers.delete(resolve)
        if (callers.size === 0) waiting.delete(id)
      }
    },
    resultOf(tenant, id) {
      const result = results.get(id)
      return result?.tenant === tenant ? result : undefined
    },
    stop: () => following.stop(),
  }
}

/** The oldest result that is no backtest's: people come back for those after hours. */
function leastMissed(results: ReadonlyMap<string, TrialResult>): string {
  for (const [id, { kind }] of results) if (kind !== 'backtest') return id
  return results.keys().next().value ?? ''
}
