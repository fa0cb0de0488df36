/**
 * Months of schedules in a simulated world: two schedulers on one log and one store, a registry,
 * and two replicas that write calendars; with crashes, freezes, seized partitions, appends that
 * fail or only seem to, late timers, lost marks, clocks that jump, calendars that are read late,
 * and edits of subscriptions and meetings at the very instant that something is due.
 */
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { createHistory } from '../history.ts'
import { createRandom } from '../random.ts'
import { createWorldClock } from '../virtual-clock.ts'
import { startCalendars } from './calendar-edits.ts'
import { openLog } from './schedule-log.ts'
import {
  DAY_MS,
  FAULTS_MS,
  type ScheduleBug,
  type ScheduleRun,
  type ScheduleState,
} from './schedule-state.ts'
import { live, scheduleLosses } from './scheduler-lives.ts'
import { startRegistry } from './subscription-edits.ts'

const START_MS = Date.UTC(2026, 1, 20, 12)
const QUIET_MS = 3 * DAY_MS

/** Plays one seed to its end. */
export async function playSchedules(
  seed: number,
  { isFaultless = false, bug }: { isFaultless?: boolean; bug?: ScheduleBug } = {},
): Promise<ScheduleRun> {
  const random = createRandom(`schedules/${seed}`)
  const clock = createWorldClock(START_MS)
  const codec = createRecordCodec()
  const now = () => clock.now()
  const blank: Omit<ScheduleState, 'log'> = {
    ...{ random, clock, codec, written: new Map(), isFaultless, bug },
    history: createHistory({ codec, now, storeNow: now }),
    store: createMemoryStateStore({ now }),
    ...{ isCalm: false, waiting: new Set(), lives: new Map() },
    ...{ reached: new Set(), calendars: undefined, endMs: START_MS + FAULTS_MS + QUIET_MS },
  }
  const state: ScheduleState = Object.assign(blank, { log: openLog(blank, random.fork('log')) })
  for (const name of ['one', 'two']) live(state, name)
  void startCalendars(state, random.fork('calendars')).then(() =>
    startRegistry(state, random.fork('registry')),
  )
  if (!isFaultless) scheduleLosses(state)
  await clock.run(START_MS + FAULTS_MS)
  state.isCalm = true
  for (const each of state.lives.values()) each.thaw()
  await clock.run(state.endMs)
  return state
}
