/** Stage 1: an occurrence that another candidate claimed gives nothing new. */
import { NEXT, type StageContext, type StageVerdict } from '../guard-facts.ts'

/** The same candidate never comes here twice; see `decide-candidate.ts`. */
export function dedupStage({ claimant }: StageContext): StageVerdict {
  if (!claimant) return NEXT
  return { fate: 'duplicate', stage: 'dedup', reason: 'occurrence-claimed', details: claimant }
}
