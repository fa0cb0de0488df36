/** Schedulers that crash, freeze, lose partitions and see clocks of their own. */
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { runScheduler, type SchedulerWorld } from '#services/scheduler/run-scheduler.ts'
import type { Random } from '../random.ts'
import { createLiveness, type Liveness } from '../sim-process.ts'
import { createNodeClock } from '../virtual-clock.ts'
import { PARTITIONS } from '../world.ts'
import { lateLog } from './schedule-log.ts'
import {
  DAY_MS,
  FAULTS_MS,
  happens,
  isFaulty,
  note,
  type ScheduleState,
  strikes,
} from './schedule-state.ts'

const IDLE_MS = 3_600_000
/** How long a timer may be late (F25). */
const LATE_MS = [1000, 60_000, 600_000, 1_800_000]

/** One life of a scheduler after the other; deaths are hours or days apart. */
export function live(state: ScheduleState, name: string, life = 1): void {
  const { clock, log, store, codec } = state
  const random = state.random.fork(`${name}.${life}`)
  const logInstance = log.open(`${name}.${life}`)
  const storeInstance = store.open(`${name}.${life}`)
  const liveness = createLiveness(() => {
    logInstance.crash()
    storeInstance.crash()
  })
  state.lives.set(`${name}.${life}`, liveness)
  const isLate = () => strikes(state, 'F25', { random, chance: 0.02 })
  const skewMs = state.isFaultless ? 0 : ((life * 7919) % 48) * 3_600_000 - DAY_MS
  if (skewMs !== 0) note(state, 'F15')
  const plain: SchedulerWorld = {
    ...{ store: storeInstance, codec, logger: silentLogger, tz: `simulated-${life}` },
    log: lateLog(state, logInstance, { life: liveness, random: random.fork('late') }),
    writer: createRecordWriter(codec, 'scheduler'),
    ownerOf: ownersOf(state, random.fork('owners')),
    idleMs: IDLE_MS,
    clock: createNodeClock({
      world: clock,
      skewMs: () => skewMs,
      ring: act =>
        isLate() ? void clock.after(random.between(1, random.pick(LATE_MS)), act) : act(),
      whenAwake: liveness.whenAwake,
    }),
  }
  const end = (downMs: number) => {
    if (liveness.isDead()) return
    liveness.die()
    state.lives.delete(`${name}.${life}`)
    clock.after(downMs, () => live(state, name, life + 1))
  }
  // A process that cannot start exits, and is started again.
  runScheduler(state.bug?.wrap?.(plain, { clock, random }) ?? plain).catch(() => end(1000))
  if (!state.isFaultless) planEnd(state, { name: `${name}.${life}`, random, liveness, end })
}

/** Whom a process would tell: it reads subscriptions twice, once more slowly. */
function ownersOf(state: ScheduleState, random: Random): SchedulerWorld['ownerOf'] {
  return (_, id) => {
    const lateMs = isFaulty(state) ? random.pick([0, 50, 2000]) : 0
    const isKnown = state.written.get(id)?.some(({ atMs }) => atMs + lateMs <= state.clock.now())
    return isKnown ? { owner: 'user:ana', agent: 'helper', name: 'simulated' } : undefined
  }
}

function planEnd(
  state: ScheduleState,
  at: { name: string; random: Random; liveness: Liveness; end(downMs: number): void },
): void {
  const { clock } = state
  const { name, random, liveness, end } = at
  const hours = (low: number, high: number) => random.between(low * 3600, high * 3600) * 1000
  if (random.chance(0.3)) {
    clock.after(hours(1, 30), () => {
      if (state.isCalm || liveness.isDead()) return
      happens(state, 'F8', `scheduler ${name} stands still`)
      liveness.freeze()
      clock.after(random.pick([5000, 120_000, 7_200_000]), liveness.thaw)
    })
  }
  clock.after(hours(3, 150), () => {
    if (state.isCalm || liveness.isDead()) return
    happens(state, 'F1', `scheduler ${name} dies`)
    end(random.pick([100, 3000, 120_000, 3_600_000, 30 * 3_600_000]))
  })
}

/** Marks are lost with everything that runs; partitions move while their owner goes on. */
export function scheduleLosses(state: ScheduleState): void {
  const { random, clock, log } = state
  for (let n = 0; n < 6; n++) {
    clock.after(random.next() * FAULTS_MS, () => {
      const partition = random.below(PARTITIONS)
      happens(state, 'F7', `partition ${partition} is seized`)
      log.seize('scheduler', { topic: 'subscriptions', partition })
    })
  }
  clock.after(random.next() * FAULTS_MS, () => {
    happens(state, 'F20', 'the tables are compacted')
    for (const topic of ['calendar.objects', 'subscriptions', 'schedule.marks']) log.compact(topic)
  })
  clock.after(random.next() * FAULTS_MS, () => spoil(state))
  if (random.chance(0.7)) return
  clock.after(random.next() * FAULTS_MS, () => {
    state.reached.add('marks lost')
    state.history.incident('marks lost')
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const marks = log.records('schedule.marks').filter(r => r.partition === partition)
      const offset = (marks.at(-1)?.offset ?? -1) + 1
      log.dropBelow({ topic: 'schedule.marks', partition, offset })
    }
  })
}

/** Records that nobody can read, in everything that a scheduler reads. */
function spoil(state: ScheduleState): void {
  happens(state, 'F23', 'records that nobody can read')
  const topics = ['calendar.objects', 'subscriptions', 'schedule.marks', 'ingress.calendar']
  const value = Uint8Array.of(9, 9, 9)
  state.log.prepareAppend(topics.map(topic => ({ topic, key: 'acme/broken', value })))()
}
