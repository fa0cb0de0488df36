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
import { openMessages, unread, waitingCandidates } from './quiet.ts'
import { readTimeline, type Timeline } from './timeline.ts'
import type { Violation } from './violation.ts'
import type { World } from './world.ts'

type Check = (world: World, timeline: Timeline, facts: Facts) => Violation[]

/** Violations kept for one invariant: the first ones tell. */
const KEPT = 3

export async function checkAll(
  world: World,
  facts: Facts,
  { isFinished }: { isFinished: boolean },
): Promise<Violation[]> {
  const found: Violation[] = []
  if (!isFinished) found.push(...unfinished(world))
  for (const text of facts.surprises) found.push({ invariant: 'surprise', text, ids: [] })
  const timeline = readTimeline(world)
  for (const check of CHECKS) found.push(...check(world, timeline, facts))
  if (found.length === 0) found.push(...(await checkRebuild(world, timeline)))
  const counts = new Map<string, number>()
  return found.filter(({ invariant }) => {
    const count = (counts.get(invariant) ?? 0) + 1
    counts.set(invariant, count)
    return count <= KEPT
  })
}

function unfinished({ history, plan }: World): Violation[] {
  const invariant = 'I1'
  return [
    ...unread(history, plan.groups).map(text => ({
      invariant,
      text: `not read: ${text}`,
      ids: [],
    })),
    ...waitingCandidates(history).map(id => ({
      invariant,
      text: `candidate ${id} has no final fate when quiet`,
      ids: [id],
    })),
    ...openMessages(history).map(id => ({
      invariant,
      text: `message ${id} is not settled when quiet`,
      ids: [id],
    })),
  ]
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
