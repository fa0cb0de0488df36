/**
 * Months of schedules in a simulated world: two schedulers on one log and one store, with crashes,
 * freezes, seized partitions, appends that fail or only seem to, late timers, lost marks, clocks
 * that jump, and edits at the very instant that something is due.
 */
import { createMemoryEventLog, type LogCall } from '#kernel/adapters/memory/memory-event-log.ts'
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import { comingInstants } from '#kernel/domain/schedule/coming-instants.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { createRecordCodec, type RecordCodec } from '#schemas/codec.ts'
import { runScheduler, type SchedulerWorld } from '#services/scheduler/run-scheduler.ts'
import { scheduled } from '#test/support/schedule-sample.ts'
import { createRandom, type Random } from '../random.ts'
import { createLiveness, type Liveness } from '../sim-process.ts'
import { createNodeClock, createWorldClock, type WorldClock } from '../virtual-clock.ts'
import { anySchedule } from './schedule-plan.ts'

const DAY_MS = 86_400_000
const START_MS = Date.UTC(2026, 1, 20, 12)
/** From winter to summer in Europe and America, and back to winter in Lord Howe. */
const FAULTS_MS = 55 * DAY_MS
const QUIET_MS = 3 * DAY_MS
const PARTITIONS = 3
const SUBSCRIPTIONS = 8
const IDLE_MS = 3_600_000

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
  log: ReturnType<typeof createMemoryEventLog>
  written: Map<string, Written[]>
  endMs: number
  isFaultless: boolean
  bug: ScheduleBug | undefined
}

interface State extends ScheduleRun {
  random: Random
  clock: WorldClock
  store: ReturnType<typeof createMemoryStateStore>
  isCalm: boolean
  /** Subscriptions whose change is not answered yet. */
  waiting: Set<string>
}

/** Plays one seed to its end. */
export async function playSchedules(
  seed: number,
  { isFaultless = false, bug }: { isFaultless?: boolean; bug?: ScheduleBug } = {},
): Promise<ScheduleRun> {
  const random = createRandom(`schedules/${seed}`)
  const clock = createWorldClock(START_MS)
  const state: State = {
    ...{ random, clock, codec: createRecordCodec(), written: new Map(), isFaultless, bug },
    log: openLog(clock, random.fork('log'), () => isFaultless || state.isCalm),
    store: createMemoryStateStore({ now: () => clock.now() }),
    isCalm: false,
    waiting: new Set(),
    endMs: START_MS + FAULTS_MS + QUIET_MS,
  }
  for (const name of ['one', 'two']) live(state, name)
  for (let n = 0; n < SUBSCRIPTIONS; n++) edit(state, `s${n}`)
  scheduleEdits(state)
  if (!isFaultless) scheduleLosses(state)
  await clock.run(START_MS + FAULTS_MS)
  state.isCalm = true
  await clock.run(state.endMs)
  return state
}

function openLog(clock: WorldClock, random: Random, isCalm: () => boolean) {
  const strike = (call: LogCall, chance: number) => {
    if (call.op !== 'append' || isCalm() || !random.chance(chance)) return
    throw new AmbitError('log-unavailable', 'a planted fault')
  }
  return createMemoryEventLog({
    clock: { now: () => clock.now(), sleep: clock.sleep },
    partitions: () => PARTITIONS,
    hooks: {
      before: async call => {
        await clock.sleep(random.next() * 3)
        if (call.instance !== 'editor') strike(call, 0.02)
      },
      after: async call => {
        if (call.instance !== 'editor') strike(call, 0.02)
      },
    },
  })
}

/** One life of a scheduler after the other; deaths are hours or days apart. */
function live(state: State, name: string, life = 1): void {
  const { clock, log, store, codec } = state
  const random = state.random.fork(`${name}.${life}`)
  const logInstance = log.open(`${name}.${life}`)
  const storeInstance = store.open(`${name}.${life}`)
  const liveness = createLiveness(() => {
    logInstance.crash()
    storeInstance.crash()
  })
  const isLate = () => !state.isCalm && !state.isFaultless && random.chance(0.02)
  const plain: SchedulerWorld = {
    ...{ log: logInstance, store: storeInstance, codec, logger: silentLogger, tz: 'simulated' },
    writer: createRecordWriter(codec, 'scheduler'),
    ownerOf: () => ({ owner: 'user:ana', agent: 'helper', name: 'simulated' }),
    idleMs: IDLE_MS,
    clock: createNodeClock({
      world: clock,
      skewMs: () => (state.isFaultless ? 0 : ((life * 7919) % 48) * 3_600_000 - DAY_MS),
      ring: act => (isLate() ? void clock.after(random.between(1, 600_000), act) : act()),
      whenAwake: liveness.whenAwake,
    }),
  }
  void runScheduler(state.bug?.wrap?.(plain, { clock, random }) ?? plain)
  if (state.isFaultless) return
  endLife(state, { name, life, random, liveness })
}

function endLife(
  state: State,
  {
    name,
    life,
    random,
    liveness,
  }: {
    name: string
    life: number
    random: Random
    liveness: Liveness
  },
): void {
  const { clock } = state
  const hours = (low: number, high: number) => random.between(low * 3600, high * 3600) * 1000
  if (random.chance(0.3)) {
    clock.after(hours(1, 30), () => {
      if (state.isCalm) return
      liveness.freeze()
      clock.after(random.pick([5000, 120_000, 7_200_000]), liveness.thaw)
    })
  }
  clock.after(hours(3, 150), () => {
    if (state.isCalm) return
    liveness.die()
    const downMs = random.pick([100, 3000, 120_000, 3_600_000, 30 * 3_600_000])
    clock.after(downMs, () => live(state, name, life + 1))
  })
}

function scheduleEdits(state: State): void {
  const { random, clock } = state
  for (let n = 0; n < 40; n++) {
    const id = `s${random.below(SUBSCRIPTIONS)}`
    clock.after(random.next() * FAULTS_MS, () => {
      if (random.chance(0.5)) return edit(state, id)
      // At the due instant itself, a moment before, and a moment after (F24).
      const [next] = nextOf(state, id)
      const shift = random.pick([-20, -1, 0, 0, 1, 5, 300])
      if (next) clock.after(Math.max(0, next.atMs - clock.now() + shift), () => edit(state, id))
    })
  }
}

function nextOf({ written, clock }: State, id: string) {
  const schedule = written.get(id)?.at(-1)?.doc.schedule
  return schedule ? comingInstants(schedule, clock.now(), 1) : []
}

/** Creates the subscription, or changes it in one of the ways that people do. */
function edit(state: State, id: string): void {
  const { random, clock, written, codec, log, waiting } = state
  if (waiting.has(id)) return
  const versions = written.get(id) ?? []
  const last = versions.at(-1)?.doc
  const since = clock.now()
  const version = (last?.version ?? 0) + 1
  const change = last ? random.pick(['schedule', 'schedule', 'name', 'pause', 'delete']) : 'create'
  const isActive = last?.state.operation === 'active'
  const keeps = last && (change === 'name' || change === 'pause' || change === 'delete')
  const schedule = keeps ? last.schedule : anySchedule(random, since)
  const operation =
    isActive && change === 'pause'
      ? 'paused'
      : isActive && change === 'delete'
        ? 'deleted'
        : 'active'
  const doc = scheduled({ id, version, operation, since, schedule })
  // Only what is not a new start keeps the start it had.
  if (last && change === 'name' && isActive) doc.scheduled = last.scheduled
  if (operation !== 'active') doc.scheduled = last?.scheduled
  const writer = createRecordWriter(codec, 'registry')
  const key = objectKey('acme', 'subscription', id)
  const facts = { tenant: 'acme', kind: 'subscription', id, version, updatedAt: since }
  const value = { ...facts, deleted: operation === 'deleted', doc }
  const record = writer.encode({ topic: 'subscriptions', key, id, tenant: 'acme', value })
  written.set(id, versions)
  const write = async (): Promise<void> => {
    waiting.add(id)
    await log.open('editor').append([record])
    waiting.delete(id)
    versions.push({ doc, atMs: clock.now() })
  }
  void write()
}

/** Marks are lost with everything that runs; partitions move while their owner goes on. */
function scheduleLosses({ random, clock, log }: State): void {
  for (let n = 0; n < 6; n++) {
    clock.after(random.next() * FAULTS_MS, () => {
      log.seize('scheduler', { topic: 'subscriptions', partition: random.below(PARTITIONS) })
    })
  }
  if (random.chance(0.7)) return
  clock.after(random.next() * FAULTS_MS, () => {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const offset = log.records('schedule.marks').filter(r => r.partition === partition).length
      log.dropBelow({ topic: 'schedule.marks', partition, offset })
    }
  })
}
