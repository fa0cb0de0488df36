/** Months of schedules, as `npm run sim -- --world schedules` plays them. */
import { createHash } from 'node:crypto'
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
    const { violations, events } = checkSchedules(run)
    const records = ['ingress.time', 'ingress.calendar'].flatMap(topic => run.log.records(topic))
    const lines = records.map(({ timestamp, headers }) => JSON.stringify([timestamp, headers]))
    return {
      ...{
        seed,
        violations,
        trace: [],
        coverage: coverageOf(run, events),
      },
      hash: createHash('sha256').update(lines.join('\n')).digest('hex'),
    }
  },
}
