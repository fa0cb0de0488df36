import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatLineage } from '#kernel/domain/event.ts'
import { isRefusal, NEXT } from '../guard-facts.ts'
import { cycleStage } from './cycle.ts'
import { stageContext } from './stage-case.ts'

const lineage = (...agents: string[]) => ({
  lineage: formatLineage(
    agents.map((agent, at) => ({ subscription: 's', agent, message: `${at}` })),
  ),
})

describe('stage 2', () => {
  it('lets events of strangers and of other agents through', () => {
    assert.equal(cycleStage(stageContext()), NEXT)
    assert.equal(cycleStage(stageContext({ attributes: lineage('planner', 'writer') })), NEXT)
  })

  it('allows the re-entries that the policy gives to this very pair', () => {
    const rule = { from: 'planner', to: 'triage', allow: true, reentries: 1 }
    const through = (...agents: string[]) =>
      cycleStage(stageContext({ attributes: lineage(...agents), policy: { agentRules: [rule] } }))
    assert.equal(through('triage', 'planner'), NEXT)
    assert.ok(isRefusal(through('triage', 'writer')))
    assert.ok(isRefusal(through('triage', 'planner', 'triage', 'planner')))
  })

  it('ends a chain deeper than eight hops', () => {
    const agents = Array.from({ length: 9 }, (_, at) => `a${at}`)
    assert.equal(cycleStage(stageContext({ attributes: lineage(...agents.slice(1)) })), NEXT)
    const verdict = cycleStage(stageContext({ attributes: lineage(...agents) }))
    assert.ok(isRefusal(verdict) && verdict.reason === 'too-deep')
  })
})
