import { type BudgetWhat, budgetEnd } from '#kernel/domain/budget-counters.ts'
import { hashId } from '#kernel/domain/ids.ts'
import { HANDLE_LINEAGE_MS, type LeaseClaim } from '#kernel/domain/lease-handle.ts'
import { dayOf } from '#kernel/domain/period.ts'
import type { Policy } from '#kernel/domain/policy.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { SubscriptionName } from '#schemas/generated/records.ts'
import type { MessageFrame } from './approval-document.ts'
import { charge, usedUpBudget } from './charge-run.ts'
import { BLANK_FRAME, emitContinuation } from './continuation.ts'
import { emitUsage } from './mailbox-outputs.ts'

/** Continuations of one mailbox in one minute; a loop of follow-ups ends here. */
export const CONTINUATIONS_PER_MINUTE = 600
/** Follow-ups of one session in one minute. */
export const FOLLOW_UPS_PER_MINUTE = 30

const MINUTE_MS = 60_000

export interface ContinuationRequest {
  agent: string
  session: string
  kind: 'turn' | 'follow-up'
  input: unknown
  /** Names the request: the same name makes one message. */
  requestId: string
  /** Who speaks, for example `user:ana`; the scope of a turn. */
  by: string
  /** The verified handle that opened the work; needed for a follow-up. */
  claim?: LeaseClaim
  /** The subscription of that run: what it does later is revalidated and charged as its work. */
  subscription?: SubscriptionName | null
  policy: Policy
}

/**
 * Appends a person's turn, or the closing of operations that a run began. Rate-bounded per mailbox
 * and, for follow-ups, per session.
 */
export function decideContinuation(unit: UnitOfWork, request: ContinuationRequest): { id: string } {
  const { agent, session, kind, input, requestId, by } = request
  const minute = Math.floor(unit.now / MINUTE_MS)
  bound(unit, `continuations/${agent}/${minute}`, CONTINUATIONS_PER_MINUTE)
  if (kind === 'follow-up') {
    refuseForeign(unit, request)
    const name = `follow-ups/${agent}/${session}/${minute}`
    bound(unit, name, FOLLOW_UPS_PER_MINUTE)
  }
  const id = hashId('m', unit.tenant, kind, agent, session, requestId)
  const frame = frameFor(request)
  payFor(unit, id, { frame, request })
  emitContinuation(unit, { id, agent, session, frame, input: { kind, input, by } })
  return { id }
}

/** A follow-up keeps scope and lineage of its run, less the hop that it adds itself. */
function frameFor({ kind, claim, by, subscription = null }: ContinuationRequest): MessageFrame {
  if (kind === 'turn' || !claim) return { ...BLANK_FRAME, onBehalfOf: by }
  const { onBehalfOf, lineage } = claim
  return { ...BLANK_FRAME, onBehalfOf, subscription, lineage: lineage.slice(0, -1) }
}

/** A follow-up belongs to the session of the run that opened it, for 24 h. */
function refuseForeign(unit: UnitOfWork, { agent, session, claim }: ContinuationRequest): void {
  const isOwn =
    claim?.agent === agent &&
    (claim.session ?? claim.messageId) === session &&
    claim.tenant === unit.tenant
  if (!isOwn) {
    throw new AmbitError('bad-handle', 'Expected the handle of a run of this very session.')
  }
  if (unit.now - claim.issuedAt > HANDLE_LINEAGE_MS) {
    throw new AmbitError('stale-lease', 'Expected a handle younger than 24 h. Ask a person.')
  }
}

/** A continuation is an activation of its own; whoever's budget is used up has to wait. */
function payFor(
  unit: UnitOfWork,
  id: string,
  { frame, request }: { frame: MessageFrame; request: ContinuationRequest },
): void {
  const { policy, agent } = request
  const owner = frame.subscription?.owner ?? frame.onBehalfOf ?? ''
  const payer = { tenant: unit.tenant, subscription: frame.subscription?.id ?? '', owner, agent }
  const whats: BudgetWhat[] = ['activations', 'tokens', 'money']
  const usedUp = usedUpBudget(unit, payer, { policy, limits: undefined, whats })
  if (usedUp) {
    const { scope, what } = usedUp
    throw new AmbitError('rate-limited', `The ${scope} budget of ${what} is used up.`, {
      retryAfterMs: budgetEnd(usedUp, unit.now, policy.zone) - unit.now,
      extra: { budget: scope, what },
    })
  }
  const { zone } = policy
  emitUsage(unit, payer, { subject: id, stage: 'continuation', attempt: 1, activations: 1, zone })
  charge(unit, payer, { what: 'activations', day: dayOf(unit.now, zone), amount: 1 })
}

function bound(unit: UnitOfWork, counter: string, limit: number): void {
  if (unit.counter(counter) >= limit) {
    throw new AmbitError('rate-limited', `Expected at most ${limit} continuations a minute.`, {
      retryAfterMs: MINUTE_MS - (unit.now % MINUTE_MS),
    })
  }
  unit.add({ counter, amount: 1, limit, ttlMs: 2 * MINUTE_MS })
}
