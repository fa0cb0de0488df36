import assert from 'node:assert/strict'
import { it } from 'node:test'
import { NEXT } from '../guard-facts.ts'
import { dedupStage } from './dedup.ts'
import { stageContext } from './stage-case.ts'

it('stage 1 ends a candidate whose occurrence another one claimed, with a link', () => {
  const claimant = { candidateId: 'c_1', messageId: 'm_1' }
  assert.equal(dedupStage(stageContext()), NEXT)
  assert.deepEqual(dedupStage(stageContext({ context: { claimant } })), {
    ...{ fate: 'duplicate', stage: 'dedup', reason: 'occurrence-claimed', details: claimant },
  })
})
