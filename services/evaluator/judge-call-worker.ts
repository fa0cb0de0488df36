/**
 * One call of a model, from the budget to the bill: breaker, reservation, call, settlement. The
 * reservation is durable before the call begins; the settlement is repeated until it is durable,
 * because an answer that was paid for and forgotten would be paid for again.
 */

import { costMicros, type Tokens } from '#kernel/domain/model-price.ts'
import type { Policy } from '#kernel/domain/policy.ts'
import type { Condition, Subscription } from '#kernel/domain/subscription.ts'
import type { LaneBatch } from '#kernel/host/step.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { StructuredModel, StructuredResult } from '#kernel/ports/model.ts'
import { overBudget, type Skip } from './judge/admission.ts'
import { type Breaker, createBreaker } from './judge/breaker.ts'
import { createInFlight } from './judge/in-flight.ts'
import type { JudgeItem } from './judge/judge-item.ts'
import type { CallOutcome } from './judge/judge-items.ts'
import { judgedKey, reservationKey } from './judge/judge-memory.ts'
import { emitUsage } from './judge/judge-outputs.ts'
import type { JudgeSettings } from './judge/judge-settings.ts'
import { itemsThatFit, outputTokensFor, tokensBound } from './judge/plan-call.ts'
import { promptOf } from './judge/prompt.ts'
import { type Share, shareUsage } from './judge/share-usage.ts'
import { keepAttempts, type Reserved, reserve, type Spending, settle } from './judge/spending.ts'
import { type ItemResult, validateVerdicts } from './judge/validate-verdicts.ts'
import { type CachedVerdict, VERDICT_TTL_MS, verdictKey } from './judge/verdict-cache.ts'
import { VERDICTS_JSON_SCHEMA } from './judge/verdict-schema.ts'

export interface CallWorld {
  settings: JudgeSettings & { model: StructuredModel }
  clock: Clock
  ids: Ids
  logger: Logger
  /** Told every call that was made. */
  onCall?(call: { model: string; outcome: string; tokens: Tokens; latencyMs: number }): void
  /** Told before and after every call: how many are under way, and whether its breaker is open. */
  onState?(state: { model: string; underWay: number; isOpen: boolean }): void
}

/** What a call is about. */
export interface Question {
  batch: LaneBatch<unknown>
  subscription: Subscription
  condition: Condition
  criterion: string
  policy: Policy
  model: string
  candidateIds: readonly string[]
  items: readonly JudgeItem[]
}

export interface Bill {
  outcome: CallOutcome<Skip>
  /** By candidate, where a call was made. */
  spent: { attempt: number; share: Share; latencyMs: number }[]
}

export interface JudgeCaller {
  call(question: Question): Promise<Bill>
}

/** Longer than the call, its settlement and a little trouble take. */
const RESERVATION_SLACK_MS = 60_000
const SETTLE_RETRY_MS = 200
/** Models that reason need more room than they were given: how far that may grow. */
const CEILING_GROWTH = 4
const CEILING_MAX = 16_000
const NOTHING: CallOutcome<Skip> = { kind: 'unavailable' }

interface Self extends CallWorld {
  breakers: Map<string, Breaker>
  /** Ceiling of output tokens for one item, by model; grows where answers are cut off. */
  ceilings: Map<string, number>
}

export function createJudgeCaller(world: CallWorld): JudgeCaller {
  const { settings } = world
  const inFlight = createInFlight(settings.inFlightMax)
  const breakers = new Map(settings.names.map(name => [name, createBreaker(settings.breaker)]))
  const self: Self = { ...world, breakers, ceilings: new Map() }
  let underWay = 0
  const tell = (model: string, change: 1 | -1) => {
    underWay += change
    const isOpen = breakers.get(model)?.isOpen() ?? false
    world.onState?.({ model, underWay, isOpen })
  }
  return {
    call: question =>
      inFlight.run(async () => {
        tell(question.model, 1)
        try {
          return await callOnce(self, question)
        } finally {
          tell(question.model, -1)
        }
      }),
  }
}

/** A question with the room that its answer has, which must stay what was reserved. */
interface Asked extends Question {
  outputBase: number
}

async function callOnce(self: Self, asked: Question): Promise<Bill> {
  const { clock, breakers } = self
  const question: Asked = { ...asked, outputBase: ceilingOf(self, asked.model) }
  const breaker = breakers.get(question.model)
  if (!breaker?.mayCall(clock.now())) return { outcome: NOTHING, spent: [] }
  let isOutage: boolean | undefined
  try {
    const reserved = await reserveCall(self, question)
    if (reserved.kind === 'no-room') return { outcome: noRoom(reserved, question), spent: [] }
    const began = clock.now()
    const result = await askModel(self, question)
    isOutage = result.kind === 'failed' && result.isOutage
    if (result.kind === 'failed' && result.reason === 'cut-off') raiseCeiling(self, question.model)
    const latencyMs = Math.max(0, clock.now() - began)
    report(self, question, { result, latencyMs })
    return await settleCall(self, question, { reserved, result, latencyMs })
  } finally {
    if (isOutage === undefined) breaker.withdraw()
    else breaker.report(isOutage, clock.now())
  }
}

function ceilingOf({ ceilings, settings }: Self, model: string): number {
  return ceilings.get(model) ?? settings.outputTokens
}

/** An answer that was cut off is asked for again with more room, as far as the budgets have it. */
function raiseCeiling(self: Self, model: string): void {
  const ceiling = ceilingOf(self, model)
  self.ceilings.set(model, Math.max(ceiling, Math.min(ceiling * CEILING_GROWTH, CEILING_MAX)))
}

async function reserveCall(self: Self, question: Asked): Promise<Reserved> {
  const { settings } = self
  const { batch, subscription, policy, items, candidateIds, condition, model } = question
  const { outputBase } = question
  const spendingOf = (tokens: Tokens): Spending => ({
    ...tokens,
    micros: costMicros(settings.prices, model, tokens),
  })
  const { criterion } = condition
  const whole = spendingOf(tokensBound(criterion, items, outputBase))
  let reserved: Reserved | undefined
  await batch.commit({ documents: [], counters: [] }, unit => {
    reserved = reserve(unit, {
      ...{ subscription, policy, candidateIds },
      expiresMs: settings.timeoutMs + RESERVATION_SLACK_MS,
      fitting: fits => ({
        bound: whole,
        count: itemsThatFit(criterion, items, {
          outputBase,
          fits: bound => fits(spendingOf(bound)),
        }),
      }),
    })
  })
  if (!reserved) throw new Error('a commit that resolved decided nothing')
  return reserved
}

function noRoom(
  { count, limit, now }: Extract<Reserved, { kind: 'no-room' }>,
  { policy }: Question,
): CallOutcome<Skip> {
  return { kind: 'no-room', count, limit: overBudget(limit, { now, zone: policy.zone }) }
}

async function askModel(self: Self, question: Asked): Promise<StructuredResult> {
  const { settings, ids } = self
  const { model, items, condition, batch, outputBase } = question
  const prompt = promptOf({ ...condition, items }, ids.random())
  return settings.model.complete({
    ...{ model, ...prompt, schema: VERDICTS_JSON_SCHEMA },
    outputTokensMax: outputTokensFor(items.length, outputBase),
    timeoutMs: settings.timeoutMs,
    signal: batch.signal,
  })
}

interface Answered {
  reserved: Extract<Reserved, { kind: 'reserved' }>
  result: StructuredResult
  latencyMs: number
}

async function settleCall(self: Self, question: Question, answered: Answered): Promise<Bill> {
  const { batch, subscription, policy, items, candidateIds, condition } = question
  const { reserved, result, latencyMs } = answered
  const used = usedOf(self, question, answered)
  const weights = items.map(({ text }) => text.length + 1)
  const shares = shareUsage(used, weights)
  const results =
    result.kind === 'answer' ? validateVerdicts(result.text, items, condition.scope).results : []
  const made = candidateIds.map((candidateId, at) => {
    return { candidateId, attempt: reserved.attempts[at] ?? 0 }
  })
  const documents = [
    reservationKey(reserved.id),
    ...candidateIds.map(id => judgedKey(subscription.id, id)),
  ]
  const commit = () =>
    batch.commit({ documents, counters: [] }, unit => {
      if (!settle(unit, reserved, used)) return
      keepAttempts(unit, subscription.id, made)
      for (const [at, each] of made.entries()) {
        const share = shares[at]
        if (share) emitUsage(unit, subscription, { ...each, share, zone: policy.zone })
      }
      for (const { key, value } of cacheable(question, results, unit.now)) {
        unit.put(key, value, { ttlMs: VERDICT_TTL_MS })
      }
    })
  await untilDone(self, batch, commit)
  return {
    outcome: result.kind === 'answer' ? { kind: 'answered', results } : result,
    spent: shares.map((share, at) => ({ share, attempt: made[at]?.attempt ?? 0, latencyMs })),
  }
}

/** A server that gives an answer and no numbers is charged what was reserved. */
function usedOf({ settings }: Self, { model }: Question, { result, reserved }: Answered): Spending {
  const { usage } = result
  const isUncounted = result.kind === 'answer' && usage.inputTokens + usage.outputTokens === 0
  if (isUncounted) return reserved.bound
  return { ...usage, micros: costMicros(settings.prices, model, usage) }
}

function cacheable(question: Question, results: readonly ItemResult[], now: number) {
  const { criterion, items, model, condition } = question
  return results.flatMap((result, at): { key: string; value: CachedVerdict }[] => {
    if (result.kind !== 'valid') return []
    const about = condition.scope === 'set' ? items : items.slice(at, at + 1)
    const key = verdictKey(criterion, about, model)
    return [{ key, value: { verdict: result.verdict, at: now } }]
  })
}

/** The money is spent: this ends only with the commit, or when somebody else owns the partition. */
async function untilDone(
  { clock, logger }: Self,
  batch: LaneBatch<unknown>,
  commit: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      await commit()
      return
    } catch (error) {
      if (!batch.isOwned() || batch.signal.aborted) throw error
      logger.warn({ tenant: batch.tenant, err: error }, 'a call could not be settled yet')
      await clock.sleep(SETTLE_RETRY_MS)
    }
  }
}

function report(
  { onCall }: Self,
  { model }: Question,
  { result, latencyMs }: { result: StructuredResult; latencyMs: number },
): void {
  const outcome = result.kind === 'answer' ? 'answer' : result.reason
  onCall?.({ model, outcome, tokens: result.usage, latencyMs })
}
