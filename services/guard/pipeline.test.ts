import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isRefusal } from './guard-facts.ts'
import { GATES, PACING, runPipeline } from './pipeline.ts'
import { NOW, type StageCase, stageContext } from './stages/stage-case.ts'

const storm = { windowMs: 60_000, max: 1 }
const run = (given: StageCase) => {
  const { verdict, hasArrived } = runPipeline(stageContext(given))
  return [isRefusal(verdict) ? verdict.fate : 'next', hasArrived]
}

describe('the pipeline', () => {
  it('has the order of the concept', () => {
    assert.deepEqual(
      [...GATES, ...PACING].map(({ name }) => name),
      [
        ...['stateStage', 'dedupStage', 'verdictStage', 'cycleStage', 'budgetStage'],
        ...['cooldownStage', 'judgedStage', 'groupStage', 'deliveryStage'],
      ],
    )
  })

  it('counts for storms only what passed stage 3', () => {
    const claimant = { candidateId: 'c', messageId: null }
    assert.deepEqual(run({ context: { claimant } }), ['duplicate', false])
    assert.deepEqual(run({}), ['next', true])
  })

  it('gives the last word to storm detection, but not over stages 0 to 3', () => {
    const state = { arrivals: [[NOW, 1]] as const, deliveredAt: NOW }
    const limits = { storm, cooldownMs: 1000 }
    assert.deepEqual(run({ limits, state }), ['storm', true])
    assert.deepEqual(run({ limits, state, policy: { grants: [] } }), ['not-entitled', false])
  })
})
