/** What a seed of schedules is made of while it is played, and what the checks get of it. */
import type { MemoryEventLog } from '#kernel/adapters/memory/memory-event-log.ts'
import type { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Calendars } from '#kernel/host/follow-calendars.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { SchedulerWorld } from '#services/scheduler/run-scheduler.ts'
import type { Fault } from '../faults.ts'
import type { History } from '../history.ts'
import type { Random } from '../random.ts'
import type { Liveness } from '../sim-process.ts'
import type { WorldClock } from '../virtual-clock.ts'

export const TENANT = 'acme'
export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000
/** From winter to summer in Europe and America, and back to winter in Lord Howe. */
export const FAULTS_MS = 55 * DAY_MS

/** A version of a subscription, and when it was answered. */
export interface Written {
  doc: Subscription
  atMs: number
}

export interface ScheduleBug {
  name: string
  meaning: string
  /** Gives a scheduler ports that misbehave. */
  wrap?(world: SchedulerWorld, at: { clock: WorldClock; random: Random }): SchedulerWorld
  /** What the matching step would compare; everything when omitted. */
  ignoresRevision?: boolean
}

export interface ScheduleRun {
  codec: RecordCodec
  /** Everything ever written, also what was compacted away. */
  history: History
  written: Map<string, Written[]>
  endMs: number
  isFaultless: boolean
  bug: ScheduleBug | undefined
  /** Faults and other things that happened, as `wanted` names them. */
  reached: Set<string>
}

export interface ScheduleState extends ScheduleRun {
  random: Random
  clock: WorldClock
  log: MemoryEventLog
  store: ReturnType<typeof createMemoryStateStore>
  /** No faults from now on. */
  isCalm: boolean
  /** Subscriptions whose change is not answered yet. */
  waiting: Set<string>
  /** Processes that can be frozen or dead, by the name of their log's instance. */
  lives: Map<string, Liveness>
  /** The calendars as the registry knows them. */
  calendars: Calendars | undefined
}

/** May faults happen now? */
export const isFaulty = (state: ScheduleState) => !state.isCalm && !state.isFaultless

/** Draws a fault, and notes it where it happens. */
export function strikes(
  state: ScheduleState,
  fault: Fault,
  { random, chance }: { random: Random; chance: number },
): boolean {
  if (!isFaulty(state) || !random.chance(chance)) return false
  note(state, fault)
  return true
}

export const note = ({ reached }: ScheduleState, fault: Fault) => void reached.add(`fault ${fault}`)

/** Notes a fault that happens to one process or to the log, where the trace shows it. */
export function happens(state: ScheduleState, fault: Fault, text: string): void {
  note(state, fault)
  state.history.incident(`${fault}: ${text}`)
}
