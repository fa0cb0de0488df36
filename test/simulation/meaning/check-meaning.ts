/** All invariants over a finished seed of meaning. */
import { checkAnswers } from '../check-doors.ts'
import { checkFates, checkMatching, checkMessages, checkOffsets } from '../check-fates.ts'
import { type Violation, violation } from '../violation.ts'
import { checkCalls } from './check-calls.ts'
import { checkMoney } from './check-money.ts'
import { checkLive, checkPolls } from './check-polls.ts'
import { checkOutcomes, checkVerdicts } from './check-verdicts.ts'
import { readMeaning } from './meaning-timeline.ts'
import { type MeaningRun, unfinishedMeaning } from './play-meaning.ts'

export async function checkMeaning(run: MeaningRun): Promise<Violation[]> {
  const { world, facts } = run
  const open = unfinishedMeaning(run)
  const found = [...facts.surprises.map(text => violation('surprise', text)), ...open]
  if (!run.isFinished && open.length === 0) {
    found.push(violation('I1', 'it was quiet too late'))
  }
  const timeline = readMeaning(world)
  found.push(
    ...checkMatching(world, timeline),
    ...checkFates(world, timeline),
    ...checkMessages(world, timeline),
    ...checkOffsets(world, timeline),
    ...checkAnswers(world, timeline, facts),
    ...checkVerdicts(run, timeline),
    ...checkOutcomes(run, timeline),
    ...(await checkMoney(run, timeline)),
    ...checkCalls(run, timeline),
    ...checkPolls(run, timeline),
    ...checkLive(run),
  )
  return found
}
