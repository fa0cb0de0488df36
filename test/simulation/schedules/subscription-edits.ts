/**
 * The registry of this world: it creates, changes, pauses, resumes and deletes subscriptions, often
 * at the instant that something is due (F24), and suspends those that lost their meeting.
 */
import { objectKey } from '#kernel/domain/object-key.ts'
import { comingInstants } from '#kernel/domain/schedule/coming-instants.ts'
import { isLive, type Operation, type Subscription } from '#kernel/domain/subscription.ts'
import type { Anchor } from '#kernel/domain/trigger.ts'
import { followCalendars } from '#kernel/host/follow-calendars.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { Change } from '#schemas/generated/records.ts'
import { scheduleRefusal } from '#services/control-plane/registry/schedule-part.ts'
import { scheduled } from '#test/support/schedule-sample.ts'
import type { Random } from '../random.ts'
import { anyAnchor, anySchedule, MISSED } from './schedule-plan.ts'
import { FAULTS_MS, note, type ScheduleState, TENANT } from './schedule-state.ts'

/** Half of them of the clock (`s0` …), half tied to calendars (`a0` …). */
const IDS = Array.from({ length: 8 }, (_, n) => [`s${n}`, `a${n}`]).flat()
const EDITS = 70

/** Creates all subscriptions and plans their edits. */
export async function startRegistry(state: ScheduleState, random: Random): Promise<void> {
  const { clock, log, codec } = state
  const registry = log.open('registry')
  state.calendars = await followCalendars({ log: registry, codec })
  await registry.follow({
    topics: ['registry.changes'],
    from: 'end',
    onRecords: records => {
      for (const { value } of records) {
        const change = value && codec.decode('change', value)
        if (change) clock.after(random.between(1, 2000), () => suspend(state, change))
      }
    },
  })
  for (const id of IDS) void edit(state, id)
  for (let n = 0; n < EDITS; n++) {
    const id = random.pick(IDS)
    clock.after(random.next() * FAULTS_MS, () => {
      if (random.chance(0.5)) return void edit(state, id)
      // At the due instant itself, a moment before, and a moment after.
      const next = nextOf(state, id)
      const shift = random.pick([-20, -1, 0, 0, 1, 5, 300])
      if (!next) return
      note(state, 'F24')
      clock.after(Math.max(0, next.atMs - clock.now() + shift), () => void edit(state, id))
    })
  }
}

/** The instant that a subscription waits for. */
export function nextOf({ written, clock, calendars }: ScheduleState, id: string) {
  const schedule = written.get(id)?.at(-1)?.doc.schedule
  if (!schedule) return undefined
  return comingInstants(schedule, clock.now(), 1, calendars?.book.find(TENANT))[0]
}

/** A subscription that is tied to a calendar. */
export const anchoredIds = IDS.filter(id => id.startsWith('a'))

const CHANGES = ['schedule', 'schedule', 'name', 'pause', 'delete'] as const

/** Creates the subscription, or changes it in one of the ways that people do. */
async function edit(state: ScheduleState, id: string): Promise<void> {
  const { random, clock, written, waiting, calendars } = state
  if (waiting.has(id)) return
  waiting.add(id)
  if (id.startsWith('a')) await calendars?.barrier()
  const last = written.get(id)?.at(-1)?.doc
  const since = clock.now()
  const change = last ? random.pick(CHANGES) : 'create'
  const isActive = last !== undefined && isLive(last.state)
  const keeps = last && (change === 'name' || change === 'pause' || change === 'delete')
  const schedule = keeps ? last.schedule : takenSchedule(state, { id, last, now: since })
  if (!schedule) return void waiting.delete(id)
  const operation = operationAfter(change, isActive)
  const doc = scheduled({ id, version: (last?.version ?? 0) + 1, operation, since, schedule })
  // As the registry does it: saving without a change keeps the start.
  const isSaved = isActive && last.scheduled?.revision === doc.scheduled?.revision
  if (isSaved) doc.scheduled = last.scheduled
  if (operation !== 'active') doc.scheduled = last?.scheduled
  await write(state, doc)
}

function operationAfter(change: string, isActive: boolean): Operation {
  if (isActive && change === 'pause') return 'paused'
  return isActive && change === 'delete' ? 'deleted' : 'active'
}

/** A schedule that the real registry would take; nothing where it refuses one. */
function takenSchedule(
  state: ScheduleState,
  { id, last, now }: { id: string; last: Subscription | undefined; now: number },
): object | undefined {
  const { random, calendars } = state
  if (!id.startsWith('a')) return anySchedule(random, now)
  const book = calendars?.book
  if (!book) return undefined
  const isSame = last?.schedule && random.chance(0.5)
  // The same meetings by another rule: an instant of both is one message.
  const schedule = isSame ? { ...last.schedule, missed: random.pick(MISSED) } : anyAnchor(random)
  const doc = scheduled({ id, since: now, schedule })
  const context = {
    find: book.find(TENANT),
    lost: (anchor: Anchor['anchor']) => book.lost(TENANT, anchor),
  }
  const policy = { bounds: { minIntervalMs: 60_000 } }
  const refusal = scheduleRefusal(doc.schedule, { policy, now, calendars: context } as never)
  return refusal ? undefined : (doc.schedule ?? undefined)
}

/** Applies what the scheduler asked for, unless the subscription changed meanwhile. */
function suspend(state: ScheduleState, change: Change): void {
  const { written, waiting, clock } = state
  const { id, ifVersion } = change
  if (waiting.has(id)) return void clock.after(20, () => suspend(state, change))
  const last = written.get(id)?.at(-1)?.doc
  if (!last || last.version !== ifVersion || !isLive(last.state)) return
  waiting.add(id)
  const version = last.version + 1
  const at = new Date(clock.now()).toISOString()
  const operation = 'suspended' as const
  void write(state, { ...last, version, state: { ...last.state, operation, at, version } })
}

/** Appends a version; it counts from the moment that this is answered. */
async function write(state: ScheduleState, doc: Subscription): Promise<void> {
  const { codec, log, waiting, written, clock } = state
  const { id, version } = doc
  const deleted = doc.state.operation === 'deleted'
  const facts = { tenant: TENANT, kind: 'subscription', id, version, updatedAt: clock.now() }
  const key = objectKey(TENANT, 'subscription', id)
  const value = { ...facts, deleted, doc }
  const writer = createRecordWriter(codec, 'registry')
  const output = { topic: 'subscriptions' as const, key, id, tenant: TENANT, value }
  await log.open('registry').append([writer.encode(output)])
  waiting.delete(id)
  const versions = written.get(id) ?? []
  written.set(id, versions)
  versions.push({ doc, atMs: clock.now() })
}
