/**
 * Performs one operation on a mailbox: only while its partition can be trusted, one at a time per
 * mailbox, durable before it is answered, and never on a store that is behind the log.
 */
import { partitionOf, tenantKey } from '#kernel/domain/ids.ts'
import { NotLoaded, type UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import { createBatchLane } from './batch-lane.ts'
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
  const partition = (tenant: string, agent: string) =>
    partitionOf(tenantKey(tenant, agent), partitions)

  const together = (performances: Performance<unknown>[]) =>
    runTogether({ runner, detector, partition }, performances)
  const inLane = createBatchLane(together)
  const begin = async <T>(performance: Performance<T>): Promise<Begun<T>> => {
    const { tenant } = performance
    const lane = tenantKey(tenant, performance.lane)
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      try {
        // The lane answers each performance with what its own decision gave.
        return (await inLane(lane, performance)) as Begun<T>
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

interface Begun<T> {
  value: T
  durable: Promise<void>
}

interface Together {
  runner: OperationRunner
  detector: LossDetector
  partition(tenant: string, agent: string): number
}

/** Decides operations of one lane in order, in one commit; each has its own outcome. */
async function runTogether(
  { runner, detector, partition }: Together,
  performances: Performance<unknown>[],
): Promise<PromiseSettledResult<Begun<unknown>>[]> {
  const [first] = performances
  if (!first) return []
  const { tenant, agent } = first
  const required: Record<string, number> = {}
  const own = agent === undefined ? [] : [mailboxKey(agent), readyKey(partition(tenant, agent))]
  const field = agent === undefined ? 'mailbox' : `${MAILBOX_STEP}/${partition(tenant, agent)}`
  const { value: outcomes, durable } = await runner.commit({
    tenant,
    field,
    documents: [...new Set([...own, ...performances.flatMap(({ documents }) => documents)])],
    required: () => required,
    decide: plain => {
      const unit = detector.watch(plain)
      const requireReady = (of: string) => {
        const key = readyKey(partition(tenant, of))
        if (unit.get(key) === undefined) throw notReady()
        required[key] = unit.version(key)
      }
      return performances.map(performance => decideOne(unit, performance, requireReady))
    },
  })
  return outcomes.map(outcome =>
    outcome.status === 'rejected'
      ? outcome
      : { status: 'fulfilled', value: { value: outcome.value, durable } },
  )
}

/** A refusal is the outcome of one operation; only a missing document concerns them all. */
function decideOne(
  unit: UnitOfWork,
  { agent, isAppendOnly = false, decide }: Performance<unknown>,
  requireReady: (agent: string) => void,
): PromiseSettledResult<unknown> {
  try {
    if (agent !== undefined && !isAppendOnly) requireReady(agent)
    return { status: 'fulfilled', value: decide(unit, { requireReady }) }
  } catch (reason) {
    if (reason instanceof NotLoaded) throw reason
    return { status: 'rejected', reason }
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
