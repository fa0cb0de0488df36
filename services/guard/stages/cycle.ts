/** Stage 2: an event that descends from a run of the target agent does not wake it again (I10). */
import { LINEAGE_HOPS_MAX, parseLineage } from '#kernel/domain/event.ts'
import { reentriesOf } from '#kernel/domain/policy.ts'
import { NEXT, type StageContext, type StageVerdict } from '../guard-facts.ts'

export function cycleStage({ facts, event }: StageContext): StageVerdict {
  const { lineage } = event.record.attributes
  if (lineage === undefined) return NEXT
  const hops = parseLineage(lineage)
  if (hops.length > LINEAGE_HOPS_MAX) {
    const details = { hops: hops.length, max: LINEAGE_HOPS_MAX, lineage: hops }
    return { fate: 'cycle', stage: 'cycle', reason: 'too-deep', details }
  }
  const { agent } = facts.subscription
  const wakes = hops.filter(hop => hop.agent === agent).length
  const from = hops.at(-1)?.agent
  if (wakes === 0 || from === undefined) return NEXT
  const allowed = reentriesOf(facts.policy, from, agent)
  if (wakes <= allowed) return NEXT
  const details = { agent, from, reentries: wakes, allowed, lineage: hops }
  return { fate: 'cycle', stage: 'cycle', reason: 'agent-in-lineage', details }
}
