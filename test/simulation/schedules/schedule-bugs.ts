/** Faults of our own making in the scheduler's world: the checks must find each of them. */
import type { SchedulerWorld } from '#services/scheduler/run-scheduler.ts'
import { withAppend, withLog, withNewIdentity } from '../bugs/changed-ports.ts'
import { ANCHOR_BUGS } from './anchor-bugs.ts'
import type { ScheduleBug } from './schedule-state.ts'

const isEvent = (topic: string) => topic === 'ingress.time' || topic === 'ingress.calendar'

export const SCHEDULE_BUGS: readonly ScheduleBug[] = [
  ...ANCHOR_BUGS,
  {
    name: 'mark-first',
    meaning: 'an instant counts as decided although its event was never appended',
    wrap: (world, { random }) =>
      withAppend(world, records => {
        const isLost = isEvent(records[0]?.topic ?? '') && random.chance(0.05)
        return isLost ? [] : records
      }),
  },
  {
    name: 'events-unread',
    meaning: 'a new owner believes the marks alone, and marks are written late',
    wrap: (world, { random }) =>
      withAppend(unread(world), records => {
        const isMark = records[0]?.topic === 'schedule.marks'
        return isMark && random.chance(0.7) ? [] : records
      }),
  },
  {
    name: 'own-clock',
    meaning: 'the time is that of the process, which jumps',
    wrap: world => ({
      ...world,
      store: {
        load: async () => {
          return { now: world.clock.now(), documents: new Map(), counters: new Map() }
        },
      },
    }),
  },
  {
    name: 'identity-of-the-moment',
    meaning: 'the same instant gets another identity at every try',
    wrap: (world, { clock }) => ({
      ...unread(world),
      writer: withNewIdentity(world.writer, isEvent, clock.now),
    }),
  },
  {
    name: 'revision-ignored',
    meaning: 'events of an edited schedule are still taken',
    ignoresRevision: true,
  },
]

/** Hides the events, so that an append that only seemed to fail is decided again. */
function unread(world: SchedulerWorld): SchedulerWorld {
  return withLog(world, log => ({
    follow: options => {
      const isTail = options.topics.some(isEvent)
      return log.follow(isTail ? { ...options, onRecords: () => {} } : options)
    },
  }))
}
