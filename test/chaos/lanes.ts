/**
 * The lanes of the load: one kind of subscription each, with what must become of its events. An
 * event is of exactly one lane; `fan` is matched by two subscriptions.
 */

/** What the subscriptions of a lane promise. */
export type Promised = 'delivered' | 'one-per-key' | 'grouped' | 'spaced'

export interface Lane {
  name: string
  promised: Promised
  /** One subscription for each; the name is also its agent's. */
  subscriptions: string[]
  limits?: Record<string, unknown>
}

export const COOLDOWN_MS = 1500

export const LANES: readonly Lane[] = [
  { name: 'plain', promised: 'delivered', subscriptions: ['plain'] },
  { name: 'plain-b', promised: 'delivered', subscriptions: ['plain-b'] },
  { name: 'plain-c', promised: 'delivered', subscriptions: ['plain-c'] },
  { name: 'fan', promised: 'delivered', subscriptions: ['fan-a', 'fan-b'] },
  { name: 'dedup', promised: 'one-per-key', subscriptions: ['dedup'] },
  {
    name: 'group',
    promised: 'grouped',
    subscriptions: ['group'],
    limits: { group: { by: ['subject'], waitMs: 700, intervalMs: 700, max: 20 } },
  },
  {
    name: 'cooldown',
    promised: 'spaced',
    subscriptions: ['cooldown'],
    limits: { cooldownMs: COOLDOWN_MS, cooldownRule: 'drop' },
  },
]

/** The type of a lane's events. */
export function typeOf(lane: string): string {
  return `chaos.${lane}`
}
