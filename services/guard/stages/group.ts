/**
 * Stage 5: a candidate joins the open group of its key, opens one, or goes on where its group
 * would be flushed at once. It never overtakes a group of its key that still waits.
 */

import { timerOf } from '../group-placement.ts'
import { NEXT, type StageContext, type StageVerdict } from '../guard-facts.ts'
import { heldUntil } from './cooldown.ts'

export function groupStage({ facts, placement }: StageContext): StageVerdict {
  if (!placement) return NEXT
  const { state, subscription, now } = facts
  const held = heldUntil(subscription.limits, state, now)
  const { joining, document } = placement
  if (joining) {
    const isLast = joining.members + 1 >= placement.rule.max
    const flushAt = isLast ? Math.max(now, held) : joining.flushAt
    return grouped('joined', { opening: joining.id, member: joining.members + 1, flushAt })
  }
  const timer = timerOf(placement, now)
  const flushAt = Math.max(timer, held)
  if (flushAt <= now && document.openings.length === 0) return NEXT
  // Store time as a number keeps openings unique even after every other memory is lost.
  const opening = Math.max(state.opening + 1, now)
  return grouped('opened', { opening, member: 1, flushAt })
}

function grouped(
  reason: string,
  details: { opening: number; member: number; flushAt: number },
): StageVerdict {
  return { fate: 'grouped', stage: 'group', reason, details }
}
