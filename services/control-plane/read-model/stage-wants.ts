/** What each stage of the guard wants to see before it lets a candidate pass, in plain words. */
import type { Stage } from '#kernel/domain/fate.ts'

const WANTS: Record<Stage, (details: Readonly<Record<string, unknown>>) => string> = {
  state: ({ maxEventAgeMs }) =>
    typeof maxEventAgeMs === 'number'
      ? `an event no older than ${seconds(maxEventAgeMs)}`
      : 'a subscription and an agent that are active',
  dedup: () => 'an occurrence that was not claimed before',
  verdict: () => 'a match with enough confidence',
  cycle: ({ max }) =>
    typeof max === 'number'
      ? `an event that at most ${max} runs lead to`
      : 'an event that does not descend from a run of the same agent',
  entitlement: () => 'an owner and an agent whom the policy allows this',
  budget: ({ scope, what, limit, period }) =>
    isPlain(limit) ? `at most ${limit} ${what} a ${period} of the ${scope}` : 'a budget with room',
  rate: ({ perMinute }) =>
    isPlain(perMinute) ? `at most ${perMinute} deliveries a minute` : 'a rate with room',
  cooldown: ({ cooldownMs }) =>
    typeof cooldownMs === 'number'
      ? `${seconds(cooldownMs)} since the last delivery`
      : 'a cooldown that has passed',
  group: () => 'no group that still gathers',
  delivery: ({ max }) =>
    isPlain(max) ? `fewer than ${max} runs still going` : 'room beside runs still going',
  storm: ({ max, windowMs }) =>
    isPlain(max) && typeof windowMs === 'number'
      ? `at most ${max} candidates in ${seconds(windowMs)}`
      : 'no storm of candidates',
}

/** `600 s since the last delivery`; `details` are those of a decision, where one was made here. */
export function stageWants(stage: string, details: unknown): string {
  const facts = typeof details === 'object' && details !== null ? details : {}
  if (!Object.hasOwn(WANTS, stage)) return 'no objection'
  return WANTS[stage as Stage](facts as Record<string, unknown>)
}

function isPlain(value: unknown): value is number | string {
  return typeof value === 'number' || typeof value === 'string'
}

function seconds(ms: number): string {
  return `${ms / 1000} s`
}
