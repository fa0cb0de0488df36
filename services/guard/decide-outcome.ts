/** A run ended: its message is open no more, and failed runs count towards a storm (I12). */
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { Outcome } from '#schemas/generated/records.ts'
import { type GuardWorld, gatherFacts } from './guard-facts.ts'
import { readState, saveState } from './guard-outputs.ts'
import type { GuardState } from './guard-state.ts'
import { addTo, countIn } from './sliding-window.ts'
import { stopStorm } from './stop-subscription.ts'

/** States after which a message is never leased again; `failed` comes back after its backoff. */
const ENDED = ['done', 'dead', 'cancelled', 'expired']

/** `offset` is where the outcome lies in its partition: read again, it counts nothing. */
export function decideOutcome(
  unit: UnitOfWork,
  world: GuardWorld,
  { outcome, offset }: { outcome: Outcome; offset: number },
): void {
  const { subscription: id, messageId, at } = outcome
  const state = readState(unit, id)
  const { lastOutcome } = state
  if (lastOutcome && offset <= lastOutcome.offset && at <= lastOutcome.at) return
  const isEnded = ENDED.includes(outcome.state)
  const open = isEnded ? state.open.filter(other => other !== messageId) : state.open
  const read = { ...state, open, lastOutcome: { offset, at } }
  saveState(unit, id, isFailed(outcome) ? withFailure(unit, world, id, read) : read)
}

/** A run that ends with a question has not failed. */
function isFailed({ state, ok, stopReason }: Outcome): boolean {
  if (state === 'done') return !ok && stopReason !== 'asked'
  return state === 'failed' || state === 'dead'
}

function withFailure(
  unit: UnitOfWork,
  world: GuardWorld,
  id: string,
  state: GuardState,
): GuardState {
  const subscription = world.directory.subscription(unit.tenant, id)
  const storm = subscription?.limits.storm
  if (!subscription || !storm) return state
  const { now } = unit
  const failures = addTo(state.failures, now, storm.windowMs)
  const count = countIn(failures, now, storm.windowMs)
  const counted = { ...state, failures }
  const isStopped = state.latch?.kind === 'storm' && subscription.version <= state.latch.version
  const isActive = subscription.state.operation === 'active'
  if (count <= storm.max || isStopped || !isActive) return counted
  const facts = gatherFacts(unit, world, subscription, counted)
  return stopStorm(unit, facts, { what: 'failed runs', count, ...storm })
}
