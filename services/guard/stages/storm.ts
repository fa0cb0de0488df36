/**
 * Stage 7: too many candidates past stage 3 within the window. It has the last word over whatever
 * stages 4 to 6 said, because a flood that a cooldown swallows is a flood all the same (I12).
 */
import { NEXT, type StageContext, type StageVerdict } from '../guard-facts.ts'
import { countIn } from '../sliding-window.ts'

export function stormStage({ facts }: StageContext): StageVerdict {
  const { subscription, state, now } = facts
  const { storm } = subscription.limits
  if (!storm) return NEXT
  const count = countIn(state.arrivals, now, storm.windowMs) + 1
  if (count <= storm.max) return NEXT
  const details = { count, max: storm.max, windowMs: storm.windowMs }
  return { fate: 'storm', stage: 'storm', reason: 'too-many-candidates', details }
}
