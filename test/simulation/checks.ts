/** All invariants over a finished seed. */
import { checkAnswers, checkDeadLetters, checkIsolation } from './check-doors.ts'
import {
  checkChanges,
  checkFates,
  checkMatching,
  checkMessages,
  checkOffsets,
  checkOrder,
} from './check-fates.ts'
import { checkBudgets, checkCooldowns, checkCycles, checkStorms } from './check-limits.ts'
import { checkEnds, checkLeases, checkSettled, checkTokens } from './check-mailbox.ts'
import { checkRebuild } from './check-rebuild.ts'
import type { Facts } from './facts.ts'
import { unfinished } from './quiet.ts'
import { readTimeline, type Timeline } from './timeline.ts'
import { type Violation, violation } from './violation.ts'
import type { World } from './world.ts'

type Check = (world: World, timeline: Timeline, facts: Facts) => Violation[]

export async function checkAll(
  world: World,
  facts: Facts,
  { isFinished }: { isFinished: boolean },
): Promise<Violation[]> {
  const found: Violation[] = []
  if (!isFinished) found.push(...unfinished(world))
  for (const text of facts.surprises) found.push(violation('surprise', text))
  const timeline = readTimeline(world)
  for (const check of CHECKS) found.push(...check(world, timeline, facts))
  if (found.length === 0) found.push(...(await checkRebuild(world, timeline)))
  return found
}

const CHECKS: readonly Check[] = [
  checkMatching,
  checkFates,
  checkMessages,
  checkOffsets,
  checkOrder,
  (_world, timeline, facts) => checkChanges(timeline, facts),
  checkTokens,
  (world, _timeline, facts) => checkLeases(world, facts),
  checkSettled,
  checkEnds,
  checkBudgets,
  checkCooldowns,
  checkCycles,
  checkStorms,
  checkAnswers,
  checkIsolation,
  checkDeadLetters,
]
