/**
 * The course of judging one batch: together first, then alone what failed, each item at most so
 * many times per model. What a call is (budgets, breaker, wire) is the caller's; here is only who
 * is asked again, and when it ends.
 */
import type { ModelFailure } from '#kernel/ports/model.ts'
import type { InvalidReason, ItemResult, ValidVerdict } from './validate-verdicts.ts'

/** Why an item has no verdict in the end. */
export type FailureReason = ModelFailure | InvalidReason | 'model-unavailable' | 'cannot-judge'

export type CallOutcome<Limit> =
  /** One result per item, or one for the whole set. */
  | { kind: 'answered'; results: ItemResult[] }
  | { kind: 'failed'; reason: ModelFailure; mayRetry: boolean; retryAfterMs?: number }
  /** The breaker is open: nothing was asked. */
  | { kind: 'unavailable' }
  /** Only the first `count` items were room for, none when 0; nothing was asked. */
  | { kind: 'no-room'; count: number; limit: Limit }

export type ItemFate<Limit> =
  | { kind: 'valid'; verdict: ValidVerdict; model: string }
  | { kind: 'failed'; reason: FailureReason; model: string }
  | { kind: 'over-budget'; limit: Limit }

export interface JudgingCourse<Limit> {
  /** Number of items. */
  count: number
  scope: 'each' | 'set'
  /** In the order in which they are asked. */
  models: readonly string[]
  /** Calls per item and model. */
  attemptsMax: number
  /** Asks about the items at these places, in their order. */
  call(model: string, places: readonly number[]): Promise<CallOutcome<Limit>>
  /** Waits before a call that follows a failed one. */
  pause(ms: number): Promise<void>
}

/** Failures that one of the items may have brought about: it must not spoil the others. */
const OF_AN_ITEM: ReadonlySet<FailureReason> = new Set<FailureReason>([
  ...(['cut-off', 'refused', 'empty', 'several-answers', 'timeout', 'request-refused'] as const),
])

const BACKOFF_FIRST_MS = 500
const BACKOFF_MAX_MS = 8000

interface Course<Limit> extends JudgingCourse<Limit> {
  fates: (ItemFate<Limit> | undefined)[]
  attempts: number[]
}

/** A fate for every item, in their order. */
export async function judgeItems<Limit>(course: JudgingCourse<Limit>): Promise<ItemFate<Limit>[]> {
  const { count, models } = course
  const self: Course<Limit> = { ...course, fates: Array(count).fill(undefined), attempts: [] }
  for (const model of models) {
    const open = [...self.fates.keys()].filter(at => isOpen(self.fates[at]))
    if (open.length > 0) await askModel(self, model, open)
  }
  const last = models.at(-1) ?? ''
  return self.fates.map(
    fate => fate ?? { kind: 'failed', reason: 'model-unavailable', model: last },
  )
}

/** A failed item may still be judged by the next model; a budget is everybody's. */
function isOpen<Limit>(fate: ItemFate<Limit> | undefined): boolean {
  return fate === undefined || fate.kind === 'failed'
}

async function askModel<Limit>(
  self: Course<Limit>,
  model: string,
  open: readonly number[],
): Promise<void> {
  self.attempts = Array(self.count).fill(0)
  const groups: number[][] = [[...open]]
  for (let group = groups.shift(); group; group = groups.shift()) {
    const outcome = await self.call(model, group)
    const again = await take(self, { model, group, outcome })
    groups.unshift(...again)
  }
}

interface Called<Limit> {
  model: string
  group: number[]
  outcome: CallOutcome<Limit>
}

/** Notes what a call gave; answers the groups that are to be asked next. */
async function take<Limit>(self: Course<Limit>, called: Called<Limit>): Promise<number[][]> {
  const { model, group, outcome } = called
  if (outcome.kind === 'no-room') return withinRoom(self, group, outcome)
  if (outcome.kind === 'unavailable') {
    fail(self, group, { reason: 'model-unavailable', model })
    return []
  }
  for (const at of group) self.attempts[at] = (self.attempts[at] ?? 0) + 1
  if (outcome.kind === 'answered') return readResults(self, model, group, outcome.results)
  const { reason, mayRetry, retryAfterMs } = outcome
  fail(self, group, { reason, model })
  const left = group.filter(at => hasAttempts(self, at))
  const isTogether = group.length > 1 && self.scope === 'each'
  if (left.length === 0 || !(mayRetry || isTogether)) return []
  if (!OF_AN_ITEM.has(reason)) await self.pause(retryAfterMs ?? backoff(self, left))
  return OF_AN_ITEM.has(reason) || !mayRetry ? apart(self, left) : [left]
}

function withinRoom<Limit>(
  self: Course<Limit>,
  group: number[],
  { count, limit }: { count: number; limit: Limit },
): number[][] {
  if (count > 0 && count < group.length) return [group.slice(0, count), group.slice(count)]
  const [first, ...rest] = group
  if (self.scope === 'each' && first !== undefined) {
    self.fates[first] = { kind: 'over-budget', limit }
    return rest.length > 0 ? [rest] : []
  }
  for (const at of group) self.fates[at] = { kind: 'over-budget', limit }
  return []
}

function readResults<Limit>(
  self: Course<Limit>,
  model: string,
  group: number[],
  results: readonly ItemResult[],
): number[][] {
  const again: number[] = []
  for (const [nth, at] of group.entries()) {
    const result = results[self.scope === 'set' ? 0 : nth]
    if (result?.kind === 'valid') {
      self.fates[at] = { kind: 'valid', verdict: result.verdict, model }
      continue
    }
    fail(self, [at], { reason: result?.reason ?? 'not-answered', model })
    if (hasAttempts(self, at)) again.push(at)
  }
  return again.length > 0 ? apart(self, again) : []
}

/** Each item alone; a set cannot be taken apart. */
function apart<Limit>({ scope }: Course<Limit>, places: number[]): number[][] {
  return scope === 'set' ? [places] : places.map(at => [at])
}

function hasAttempts<Limit>({ attempts, attemptsMax }: Course<Limit>, at: number): boolean {
  return (attempts[at] ?? 0) < attemptsMax
}

function backoff<Limit>({ attempts }: Course<Limit>, places: readonly number[]): number {
  const made = Math.max(...places.map(at => attempts[at] ?? 0))
  return Math.min(BACKOFF_FIRST_MS * 2 ** (made - 1), BACKOFF_MAX_MS)
}

function fail<Limit>(
  self: Course<Limit>,
  places: readonly number[],
  why: { reason: FailureReason; model: string },
): void {
  for (const at of places) self.fates[at] = { kind: 'failed', ...why }
}
