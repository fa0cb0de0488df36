/** Months of schedules, as `npm run sim -- --world schedules` plays them. */
import { judged } from '../seed-result.ts'
import type { SimWorld } from '../sim-world.ts'
import { checkSchedules } from './check-schedules.ts'
import { SCHEDULE_BUGS } from './schedule-bugs.ts'
import { coverageOf, WANTED } from './schedule-coverage.ts'
import { playSchedules } from './schedule-world.ts'

/** A seed plays 58 days whatever the number of events asked for. */
export const SCHEDULES: SimWorld = {
  name: 'schedules',
  meaning: 'two months of schedules and meetings across clock changes, crashes and edits (I13)',
  bugs: SCHEDULE_BUGS,
  wanted: () => [...WANTED],
  async run({ seed, isFaultless, bug }) {
    const planted = SCHEDULE_BUGS.find(({ name }) => name === bug)
    const run = await playSchedules(seed, { isFaultless, bug: planted })
    const checked = checkSchedules(run)
    return judged(run, seed, checked.violations, coverageOf(run, checked))
  },
}
