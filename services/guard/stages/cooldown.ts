/** Stage 4: rate, then cooldown. Inside either, a candidate is dropped or grouped (I9). */
import type { Limits } from '#kernel/domain/limits.ts'
import { NEXT, type StageContext, type StageVerdict } from '../guard-facts.ts'
import { type GuardState, RATE_WINDOW_MS } from '../guard-state.ts'
import { freeAt } from '../sliding-window.ts'

export function cooldownStage({ facts, placement }: StageContext): StageVerdict {
  const { subscription, state, now } = facts
  const { limits } = subscription
  if (limits.cooldownRule === 'group' && placement) return NEXT
  const { rateUntil, cooldownUntil } = holdsOf(limits, state, now)
  if (now < rateUntil) {
    const details = { perMinute: limits.rate?.perMinute, until: iso(rateUntil) }
    return { fate: 'cooldown', stage: 'rate', reason: 'rate-exceeded', details }
  }
  if (now >= cooldownUntil) return NEXT
  const details = { cooldownMs: limits.cooldownMs, until: iso(cooldownUntil) }
  return { fate: 'cooldown', stage: 'cooldown', reason: 'inside-cooldown', details }
}

/** Until when rate and cooldown keep deliveries back; past instants where they do not. */
export function holdsOf(limits: Limits, state: GuardState, now: number) {
  const { rate, cooldownMs } = limits
  const bounds = rate && { windowMs: RATE_WINDOW_MS, max: rate.perMinute }
  return {
    rateUntil: bounds ? freeAt(state.rate, now, bounds) : 0,
    cooldownUntil: cooldownMs && state.deliveredAt > 0 ? state.deliveredAt + cooldownMs : 0,
  }
}

/** First instant at which a delivery is allowed again. */
export function heldUntil(limits: Limits, state: GuardState, now: number): number {
  const { rateUntil, cooldownUntil } = holdsOf(limits, state, now)
  return Math.max(rateUntil, cooldownUntil)
}

const iso = (ms: number) => new Date(ms).toISOString()
