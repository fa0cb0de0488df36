/** What a seed of schedules reached. */
import type { CalendarTimeline } from './calendar-timeline.ts'
import type { Checked } from './check-schedules.ts'
import type { ScheduleRun } from './schedule-state.ts'

const FAULTS = [1, 4, 5, 7, 8, 15, 20, 21, 22, 23, 24, 25].map(n => `fault F${n}`)
const MISSED = [
  'later-one-fired',
  'too-late',
  'not-wanted-late',
  'meeting-begun',
  'set-in-the-past',
]

/** Everything that a run of many seeds should reach. */
export const WANTED: readonly string[] = [
  ...[
    'fired often',
    'fired time.once',
    'fired time.recurrence',
    'fired calendar.anchor',
    'fired late',
  ],
  ...MISSED.map(reason => `missed ${reason}`),
  ...['meeting moved', 'instance moved', 'meeting cancelled', 'instance cancelled'],
  ...['meeting deleted', 'meeting came back', 'rule changed', 'calendar replaced', 'lost anchor'],
  ...['marks lost', ...FAULTS],
]

/** A seed in which fewer events are fired says little. */
const OFTEN = 50

export function coverageOf(run: ScheduleRun, { events, timeline, asked }: Checked): string[] {
  const { fired, gaps } = events
  return [
    ...new Set([
      ...run.reached,
      ...(fired.length > OFTEN ? ['fired often'] : []),
      ...fired.map(({ type }) => `fired ${type}`),
      ...(fired.some(({ isLate }) => isLate) ? ['fired late'] : []),
      ...gaps.map(({ reason }) => `missed ${reason}`),
      ...(asked.length > 0 ? ['lost anchor'] : []),
      ...changesOf(timeline),
    ]),
  ]
}

/** What became of meetings, as it stands in the log. */
function changesOf(timeline: CalendarTimeline): string[] {
  const names = ['team', 'feed'].flatMap(calendar =>
    timeline.uids(calendar).map(uid => timeline.periods(calendar, uid)),
  )
  return names.flatMap(periods =>
    periods.flatMap(({ object }, n) => {
      const before = periods[n - 1]
      if (!before) return []
      if (!object) return ['meeting deleted']
      if (!before.object) return ['meeting came back']
      const { main, exceptions, rrules } = object
      const was = before.object
      return [
        ...(main?.start.local === was.main?.start.local ? [] : ['meeting moved']),
        ...(main?.status === 'cancelled' ? ['meeting cancelled'] : []),
        ...(String(rrules) === String(was.rrules) ? [] : ['rule changed']),
        ...exceptions.map(({ status, start, recurrenceId }) => {
          if (status === 'cancelled') return 'instance cancelled'
          return start.local === recurrenceId.local ? 'instance renamed' : 'instance moved'
        }),
      ]
    }),
  )
}
