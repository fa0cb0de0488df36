import assert from 'node:assert/strict'
import { it } from 'node:test'
import { criterionHash as hashOf } from '#kernel/domain/criterion-hash.ts'
import { isRefusal, type StageVerdict } from '../guard-facts.ts'
import { stageContext } from './stage-case.ts'
import { judgedStage, verdictStage } from './verdict.ts'

const condition = { criterion: 'a refund', minConfidence: 0.7, scope: 'each' } as const
const fateOf = (verdict: StageVerdict) => (isRefusal(verdict) ? verdict.fate : 'next')

it('a verdict ends what it denies, and a missing one never activates (I15)', () => {
  const at = (outcome: string | null, confidence = 1) => {
    const verdict = outcome === null ? null : { id: 'v', outcome, confidence }
    const context = stageContext({
      subscription: { condition },
      context: { verdict: verdict && { ...verdict, model: 'm', cached: false, body: null } },
    })
    return [fateOf(verdictStage(context)), fateOf(judgedStage(context))]
  }
  assert.deepEqual(at('matched', 0.7), ['next', 'next'])
  assert.equal(at('matched', 0.69)[0], 'rejected')
  assert.equal(at('not-matched')[0], 'rejected')
  assert.equal(at('failed')[0], 'evaluation-failed')
  assert.deepEqual(at('skipped'), ['next', 'evaluation-failed'])
  assert.deepEqual(at(null), ['next', 'evaluation-failed'])
  assert.equal(fateOf(judgedStage(stageContext())), 'next')
})

it('a candidate that no model was asked about ends as the evaluator said', () => {
  const skipped = { fate: 'cooldown', stage: 'cooldown', reason: 'inside-cooldown', details: null }
  const context = stageContext({ subscription: { condition }, context: { skipped } })
  assert.deepEqual(judgedStage(context), { ...skipped, details: {} })
  const without = stageContext({ context: { skipped } })
  assert.equal(fateOf(judgedStage(without)), 'next', 'there is no condition any more')
})

it('a verdict about another criterion is superseded', () => {
  const at = (criterionHash: string) =>
    fateOf(
      verdictStage(
        stageContext({
          subscription: { condition },
          context: {
            verdict: {
              ...{ id: 'v', outcome: 'matched', confidence: 1, model: 'm', cached: false },
              body: { criterionHash },
            },
          },
        }),
      ),
    )
  assert.equal(at(hashOf(condition)), 'next')
  assert.equal(at(hashOf({ ...condition, criterion: 'a complaint' })), 'inactive')
})

it('a person’s answer stands in the place of the model’s confidence', () => {
  const at = '2026-11-30T10:00:00.000Z'
  const decided = (decision: 'accept' | 'ignore', criterion: string | null = 'a refund') => {
    const outcome = decision === 'accept' ? 'matched' : 'not-matched'
    const answer = { decision, by: 'user:bo', at }
    const body = { criterionHash: hashOf(condition), answer }
    const verdict = { id: 'v', outcome, confidence: 0.5, model: 'm', cached: false, body }
    const now = criterion === null ? null : { ...condition, criterion }
    return stageContext({ subscription: { condition: now }, context: { verdict } })
  }
  const accepted = decided('accept')
  assert.deepEqual(
    [fateOf(verdictStage(accepted)), fateOf(judgedStage(accepted))],
    ['next', 'next'],
  )
  const details = { by: 'user:bo', at, confidence: 0.5, verdictId: 'v' }
  const ignored = { fate: 'rejected', stage: 'verdict', reason: 'ignored', details }
  assert.deepEqual(verdictStage(decided('ignore')), ignored)
  assert.deepEqual(verdictStage(decided('ignore', null)), ignored, 'also without a condition')
  assert.equal(fateOf(verdictStage(decided('accept', 'a complaint'))), 'inactive')
  assert.equal(fateOf(verdictStage(decided('ignore', 'a complaint'))), 'inactive')
})

it('a question that nobody answered ends as the evaluator said, whatever is asked now', () => {
  const end = { fate: 'stale', stage: 'state', reason: 'too-old', details: { ageMs: 5 } }
  const body = { lapse: { ...end, at: '2026-11-30T10:00:00.000Z' } }
  const verdict = { id: 'v', outcome: 'ask', confidence: 0.5, model: 'm', cached: false, body }
  for (const now of [condition, null]) {
    const context = stageContext({ subscription: { condition: now }, context: { verdict } })
    assert.equal(fateOf(verdictStage(context)), 'next')
    assert.deepEqual(judgedStage(context), end)
  }
})
