/** Stage 6: what an overlapping run means. Runs again at a flush. */
import { type GuardFacts, NEXT, type StageContext, type StageVerdict } from '../guard-facts.ts'

export function deliveryStage({ facts }: StageContext): StageVerdict {
  return judgeOverlap(facts)
}

/** Under `skip` a going run is reason enough to drop; `queue` and `parallel` always deliver. */
export function judgeOverlap({ subscription, state }: GuardFacts): StageVerdict {
  const { concurrency } = subscription.limits
  if (concurrency?.overlap !== 'skip') return NEXT
  const max = concurrency.max ?? 1
  if (state.open.length < max) return NEXT
  const details = { max, open: state.open.slice(-3) }
  return { fate: 'overlap', stage: 'delivery', reason: 'run-still-going', details }
}
