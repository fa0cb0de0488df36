/** The order of the guard's stages, as one literal list. */
import { isRefusal, NEXT, type StageContext, type StageVerdict } from './guard-facts.ts'
import { budgetStage } from './stages/budget.ts'
import { cooldownStage } from './stages/cooldown.ts'
import { cycleStage } from './stages/cycle.ts'
import { dedupStage } from './stages/dedup.ts'
import { deliveryStage } from './stages/delivery.ts'
import { groupStage } from './stages/group.ts'
import { stateStage } from './stages/state.ts'
import { stormStage } from './stages/storm.ts'
import { judgedStage, verdictStage } from './stages/verdict.ts'

type Stage = (context: StageContext) => StageVerdict

/** The first refusal ends the way; nobody behind is asked. */
export const GATES: readonly Stage[] = [
  stateStage, // 0
  dedupStage, // 1
  verdictStage,
  cycleStage, // 2
  budgetStage, // 3
]

/** Candidates that come this far count for storm detection, which looks at all of them. */
export const PACING: readonly Stage[] = [
  cooldownStage, // 4
  judgedStage,
  groupStage, // 5
  deliveryStage, // 6
]

export interface PipelineResult {
  /** `next` means: deliver now. */
  verdict: StageVerdict
  /** Passed stage 3. */
  hasArrived: boolean
}

/** Asks the stages in order. Pure. */
export function runPipeline(context: StageContext): PipelineResult {
  const gate = firstRefusal(GATES, context)
  if (isRefusal(gate)) return { verdict: gate, hasArrived: false }
  const paced = firstRefusal(PACING, context)
  const storm = stormStage(context) // 7
  return { verdict: isRefusal(storm) ? storm : paced, hasArrived: true }
}

function firstRefusal(stages: readonly Stage[], context: StageContext): StageVerdict {
  for (const stage of stages) {
    const verdict = stage(context)
    if (isRefusal(verdict)) return verdict
  }
  return NEXT
}
