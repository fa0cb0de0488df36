/** The closed list of fates. Every candidate gets exactly one. */
export const FATES = [
  'delivered',
  'grouped',
  'held',
  'duplicate',
  'cycle',
  'not-entitled',
  'over-budget',
  'cooldown',
  'overlap',
  'rejected',
  'evaluation-failed',
  'inactive',
  'stale',
  'storm',
] as const
export type Fate = (typeof FATES)[number]

/** Waiting places; every other fate is final. */
export function isFinal(fate: Fate): boolean {
  return fate !== 'grouped' && fate !== 'held'
}

/** Where in the guard a fate is decided, in the order in which the stages are asked. */
export const STAGES = [
  'state',
  'dedup',
  'verdict',
  'cycle',
  'entitlement',
  'budget',
  'rate',
  'cooldown',
  'group',
  'delivery',
  'storm',
] as const
export type Stage = (typeof STAGES)[number]
