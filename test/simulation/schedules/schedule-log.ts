/** The log of a seed of schedules: slow, failing, and read late by processes that sleep. */
import { createMemoryEventLog, type LogCall } from '#kernel/adapters/memory/memory-event-log.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { Fault } from '../faults.ts'
import type { Random } from '../random.ts'
import type { Liveness } from '../sim-process.ts'
import { PARTITIONS } from '../world.ts'
import { isFaulty, type ScheduleState, strikes } from './schedule-state.ts'

const CALENDARS = 'calendar.objects'

/** Appends fail before (F5) and after (F4) their effect; a frozen process waits on both sides. */
export function openLog(state: Omit<ScheduleState, 'log'>, random: Random) {
  const { clock } = state
  const whole = state as ScheduleState
  const strike = ({ op, instance }: LogCall, fault: Fault) => {
    // Whoever writes subscriptions is no part of what is tried here.
    if (op !== 'append' || instance === 'registry') return
    if (!strikes(whole, fault, { random, chance: 0.02 })) return
    throw new AmbitError('log-unavailable', 'a planted fault')
  }
  return createMemoryEventLog({
    clock: { now: () => clock.now(), sleep: clock.sleep },
    partitions: () => PARTITIONS,
    onWrite: record => state.history.wrote(record),
    hooks: {
      before: async call => {
        // Between the moment that an edit counts from and its answer, something may be due.
        await clock.sleep(random.next() * (call.instance === 'registry' ? 40 : 3))
        await state.lives.get(call.instance)?.awake()
        strike(call, 'F5')
      },
      after: async call => {
        strike(call, 'F4')
        await state.lives.get(call.instance)?.awake()
      },
    },
  })
}

/**
 * The log as one process reads it: nothing reaches it while it is frozen, and calendars reach it
 * later than subscriptions do (F21).
 */
export function lateLog(
  state: ScheduleState,
  inner: EventLog,
  { life, random }: { life: Liveness; random: Random },
): EventLog {
  const lateMs = () => {
    if (!isFaulty(state)) return 0
    if (strikes(state, 'F21', { random, chance: 0.1 })) return random.pick([1000, 8000, 25_000])
    return random.chance(0.5) ? random.between(1, 300) : 0
  }
  return {
    ...inner,
    consume: options =>
      inner.consume({
        ...options,
        async onAssigned(partitions) {
          await life.awake()
          await options.onAssigned?.(partitions)
        },
      }),
    follow: options =>
      inner.follow({
        ...options,
        async onRecords(records) {
          await life.awake()
          const ms = options.topics.includes(CALENDARS) ? lateMs() : 0
          if (ms > 0) await state.clock.sleep(ms)
          await life.awake()
          await options.onRecords(records)
        },
      }),
  }
}
