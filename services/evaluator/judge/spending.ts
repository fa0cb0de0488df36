/**
 * Money before and after a call: reserved from every budget under its limit, then settled with what
 * was really used (I8). Both are part of a commit, so a crash leaves either nothing or a
 * reservation, which expires. What is held is counted apart from what is paid: a rebuild counts
 * again what was paid, while reservations live and die with the store that they are in.
 */
import {
  type BudgetLimit,
  type BudgetWhat,
  budgetCounters,
  limitsOf,
  limitWithoutRoom,
  payerOf,
} from '#kernel/domain/budget-counters.ts'
import type { Tokens } from '#kernel/domain/model-price.ts'
import { dayOf } from '#kernel/domain/period.ts'
import type { Policy } from '#kernel/domain/policy.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { OWN_QUEUE } from '#kernel/host/step.ts'
import {
  dueId,
  JUDGED_TTL_MS,
  type JudgedDocument,
  judgedKey,
  RESERVATION_TTL_MS,
  type Reservation,
  reservationKey,
  SETTLED_TTL_MS,
} from './judge-memory.ts'

/** The host's name for the due queue of this partition; the type keeps it the same word. */
export const DUE_QUEUE: typeof OWN_QUEUE = 'own'

/** Where counters keep what is held. */
const HELD = 'held'

/** An upper bound of one call, or what it used. */
export interface Spending extends Tokens {
  micros: number
}

export interface ReserveRequest {
  subscription: Subscription
  policy: Policy
  /** Candidates of the call, in their order. */
  candidateIds: readonly string[]
  /** How many of the first candidates fit, asked with the room that is left. */
  fitting(fits: (bound: Spending) => boolean): { count: number; bound: Spending }
  /** When the reservation expires, ms from now. */
  expiresMs: number
}

export type Reserved =
  | { kind: 'reserved'; id: string; bound: Spending; attempts: number[]; amounts: Amounts }
  | { kind: 'no-room'; count: number; limit: BudgetLimit; now: number }

type Amounts = Reservation['amounts']

const amountOf = ({ inputTokens, outputTokens, micros }: Spending, what: BudgetWhat): number =>
  what === 'money' ? micros : what === 'tokens' ? inputTokens + outputTokens : 0

/** Reserves the whole call or nothing; counts the attempt of every candidate. */
export function reserve(unit: UnitOfWork, request: ReserveRequest): Reserved {
  const { subscription, policy, candidateIds } = request
  const limits = limitsOf(subscription, policy, unit.now).filter(
    ({ what }) => what !== 'activations',
  )
  const lacking = (bound: Spending) =>
    limitWithoutRoom(
      limits,
      what => amountOf(bound, what),
      counter => unit.counter(counter),
    )
  const { count, bound } = request.fitting(spending => lacking(spending) === undefined)
  const limit = lacking(bound)
  if (limit) return { kind: 'no-room', count, limit, now: unit.now }
  const attempts = candidateIds.map(id => countAttempt(unit, subscription.id, id))
  const id = `${candidateIds[0]}/${attempts[0]}`
  const day = dayOf(unit.now, policy.zone)
  const amounts = (['tokens', 'money'] as const).flatMap(what =>
    budgetCounters(payerOf(subscription), what, day).map(({ counter, ttlMs }) => ({
      ...{ counter, what, ttlMs },
      amount: amountOf(bound, what),
    })),
  )
  for (const { counter, amount, ttlMs } of amounts) {
    const limited = limits.find(each => each.counter === counter)
    if (amount > 0) unit.add({ counter, part: HELD, amount, ttlMs, limit: limited?.limit })
  }
  // A store that went back knows of a call that began, and not of its attempt: nobody settles it.
  const left = unit.get<Reservation>(reservationKey(id))
  if (left && !left.isReleased) giveBack(unit, left)
  const reservation: Reservation = { amounts, isReleased: false }
  unit.put(reservationKey(id), reservation)
  unit.due(DUE_QUEUE, dueId({ kind: 'reservation', id }), unit.now + request.expiresMs)
  return { kind: 'reserved', id, bound, attempts, amounts }
}

function countAttempt(unit: UnitOfWork, subscription: string, candidateId: string): number {
  const key = judgedKey(subscription, candidateId)
  const attempts = (unit.get<JudgedDocument>(key)?.attempts ?? 0) + 1
  unit.put(key, { attempts }, { ttlMs: JUDGED_TTL_MS })
  return attempts
}

/**
 * Notes attempts that were made. A rebuild knows of those that were charged alone, so an attempt
 * that was under way meanwhile must be noted with its charge, or the next would have its number.
 */
export function keepAttempts(
  unit: UnitOfWork,
  subscription: string,
  made: readonly { candidateId: string; attempt: number }[],
): void {
  for (const { candidateId, attempt } of made) {
    const key = judgedKey(subscription, candidateId)
    const known = unit.get<JudgedDocument>(key)?.attempts ?? 0
    if (known < attempt) unit.put(key, { attempts: attempt }, { ttlMs: JUDGED_TTL_MS })
  }
}

/**
 * Charges what a call used instead of what it held. Answers false when that was done before: a
 * commit whose answer was lost may have taken effect. Where the store knows nothing of the call it
 * was lost meanwhile, and what the call used is charged all the same.
 */
export function settle(
  unit: UnitOfWork,
  { id, amounts }: { id: string; amounts: Amounts },
  used: Spending,
): boolean {
  const key = reservationKey(id)
  const held = unit.get<Reservation>(key)
  if (held?.isSettled) return false
  if (held && !held.isReleased) giveBack(unit, held)
  for (const { counter, what, ttlMs } of amounts) {
    const amount = amountOf(used, what)
    if (amount > 0) unit.add({ counter, amount, ttlMs })
  }
  const settled: Reservation = { amounts: [], isReleased: true, isSettled: true }
  unit.put(key, settled, { ttlMs: SETTLED_TTL_MS })
  unit.due(DUE_QUEUE, dueId({ kind: 'reservation', id }), null)
  return true
}

/** Gives back what nobody settled: the process that held it is gone. */
export function release(unit: UnitOfWork, id: string): void {
  const key = reservationKey(id)
  const held = unit.get<Reservation>(key)
  unit.due(DUE_QUEUE, dueId({ kind: 'reservation', id }), null)
  if (!held || held.isReleased) return
  giveBack(unit, held)
  unit.put(key, { ...held, isReleased: true }, { ttlMs: RESERVATION_TTL_MS })
}

function giveBack(unit: UnitOfWork, { amounts }: Reservation): void {
  for (const { counter, amount, ttlMs } of amounts) {
    if (amount > 0) unit.add({ counter, part: HELD, amount: -amount, ttlMs })
  }
}
