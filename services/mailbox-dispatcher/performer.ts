/**
 * Performs one operation on a mailbox: only while its partition can be trusted, one at a time per
 * mailbox, durable before it is answered, and never on a store that is behind the log.
 */
import { partitionOf, tenantKey } from '#kernel/domain/ids.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import { createKeyedLane } from './keyed-lane.ts'
import type { LossDetector } from './loss-detector.ts'
import { LostState } from './lost-state.ts'
import { MAILBOX_STEP, mailboxKey, readyKey } from './message-document.ts'
import type { OperationRunner } from './operation-runner.ts'

/** Ms after which a caller of a mailbox that is being rebuilt should come again. */
const NOT_READY_RETRY_MS = 500
/** Tries through versions that moved while they were compared. */
const TRIES_MAX = 5

export interface Performance<T> {
  tenant: string
  /** The lane: operations of one mailbox do not race inside a process. */
  lane: string
  /** What the decision will probably read, besides the mailbox of `agent`. */
  documents: string[]
  /** The mailbox, where it is known beforehand. */
  agent?: string
  /** An operation that only appends works while the mailbox is rebuilt, too. */
  isAppendOnly?: boolean
  decide(unit: UnitOfWork, mailbox: { requireReady(agent: string): void }): T
}

export interface Performer {
  /**
   * Resolves when durable. Rejects `not-ready` while the partition is rebuilt, and
   * `store-unavailable` or `log-unavailable`, after which the operation may have happened.
   */
  perform<T>(performance: Performance<T>): Promise<T>
  /** Like `perform`, but lets the caller do something while the outputs become durable. */
  begin<T>(performance: Performance<T>): Promise<{ value: T; durable: Promise<void> }>
  partition(tenant: string, agent: string): number
}

export function createPerformer(world: {
  runner: OperationRunner
  detector: LossDetector
  /** Partitions of the topic `mailbox`. */
  partitions: number
}): Performer {
  const { runner, detector, partitions } = world
  const inLane = createKeyedLane()
  const partition = (tenant: string, agent: string) =>
    partitionOf(tenantKey(tenant, agent), partitions)

  const once = <T>(performance: Performance<T>) => {
    const { tenant, agent, documents, isAppendOnly = false } = performance
    const required: Record<string, number> = {}
    const decide = (plain: UnitOfWork) => {
      const unit = detector.watch(plain)
      const requireReady = (of: string) => {
        const key = readyKey(partition(tenant, of))
        if (unit.get(key) === undefined) throw notReady()
        required[key] = unit.version(key)
      }
      if (agent !== undefined && !isAppendOnly) requireReady(agent)
      return performance.decide(unit, { requireReady })
    }
    const own = agent === undefined ? [] : [mailboxKey(agent), readyKey(partition(tenant, agent))]
    const field = agent === undefined ? 'mailbox' : `${MAILBOX_STEP}/${partition(tenant, agent)}`
    return runner.commit({
      tenant,
      field,
      documents: [...own, ...documents],
      decide,
      required: () => required,
    })
  }
  const begin = async <T>(performance: Performance<T>) => {
    const { tenant } = performance
    const lane = tenantKey(tenant, performance.lane)
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      try {
        return await inLane(lane, () => once(performance))
      } catch (error) {
        if (!(error instanceof LostState)) throw error
        await settleLoss(detector, tenant, {
          lost: error,
          partition: partition(tenant, error.agent),
        })
      }
    }
    throw notReady()
  }
  return {
    begin,
    async perform(performance) {
      const { value, durable } = await begin(performance)
      await durable
      return value
    },
    partition,
  }
}

/** Returns when the operation may be tried again; rejects while the mailbox is rebuilt. */
async function settleLoss(
  detector: LossDetector,
  tenant: string,
  { lost, partition }: { lost: LostState; partition: number },
): Promise<void> {
  const isShown = lost.missing.some(({ key }) => detector.agentOf(tenant, key) !== undefined)
  const finding = await detector.resolve(tenant, lost, partition)
  if (finding === 'rebuilding') throw notReady()
  if (finding === 'forgotten' && !isShown) {
    throw new AmbitError('stale-lease', 'The message is not kept any more. Stop the work.')
  }
}

function notReady(): AmbitError {
  return new AmbitError('not-ready', 'The mailbox is being rebuilt from the log; try again soon.', {
    retryAfterMs: NOT_READY_RETRY_MS,
  })
}
