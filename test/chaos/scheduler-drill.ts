/**
 * Schedules that come due every second while their owners are killed, one after the other and both
 * at once, and while people edit, move and delete them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { eventually } from '#test/support/api-caller.ts'
import type { Cluster } from '#test/support/cluster.ts'
import { type Answered, change, subscribe } from './change.ts'
import { type Drill, type DrillReport, onCluster, play } from './drill.ts'
import { untilNothingLost } from './findings.ts'
import { followTopics } from './follow-topics.ts'
import {
  createScheduleLedger,
  type Holding,
  type Rule,
  type ScheduleLedger,
} from './schedule-ledger.ts'

const SIZE = { 'control-plane': 1, ingest: 1, evaluator: 1, guard: 1, scheduler: 2 }
const AGENT = 'clock'
const CALENDAR = 'team'
/** From a kill until the two replicas own everything again, with room for a busy machine. */
const RECOVER_MS = 45_000
/** How far off the instants are that edits overtake; the kill comes within that time. */
const AHEAD_MS = 3000
/** Where edits move them to: after the other replica, or a new one, has taken over. */
const MOVED_MS = 12_000
/** A busy machine takes longer to write subscriptions: so many times what it took before. */
const PATIENCE = 2
/** Left until what is edited comes due, at least: so long the kill and the edits may take. */
const IN_TIME_MS = 1500
const TRIES_MAX = 5
/** What is due so shortly before the look may still be on its way. */
const ON_ITS_WAY_MS = 2000

interface Self {
  cluster: Cluster
  ledger: ScheduleLedger
  barrier(): Promise<void>
  /** Events of the clock seen so far. */
  seen(): number
  /** Ms that it took to write some subscriptions. */
  paceMs: number
  /** Subscriptions as their table had them, by id and version. */
  stored: Map<string, Subscription>
}

/** Schedules under `kill -9` of their owners. */
export const schedulerDrill: Drill = {
  name: 'scheduler',
  does: 'kill -9 of schedulers at due times, and edits meanwhile',
  run: () => onCluster({ size: SIZE }, drill),
}

async function drill(cluster: Cluster): Promise<DrillReport> {
  const ledger = createScheduleLedger()
  let events = 0
  const note: ScheduleLedger['event'] = event => {
    events += 1
    ledger.event(event)
  }
  const stored: Self['stored'] = new Map()
  const followed = await followTopics(cluster, {
    subscriptions({ kind, id, version, doc }) {
      if (kind === 'subscription') stored.set(`${id} ${version}`, doc as Subscription)
    },
    ...{ 'ingress.time': note, 'ingress.calendar': note },
    ...{ mailbox: ledger.message, decisions: ledger.decision },
  })
  const self = { cluster, ledger, barrier: followed.barrier, paceMs: 0, stored, seen: () => events }
  try {
    await prepare(self)
    return await play<number[]>({
      ...{ victims: 'schedulers', rounds: [[0], [1], [0, 1]], counts: ledger.counts },
      async round(victims) {
        await round(self, victims)
        // What edits have put off comes due rounds later.
        return []
      },
      settled: () => settled(self),
    })
  } finally {
    await followed.stop()
  }
}

async function prepare(self: Self): Promise<void> {
  const { cluster } = self
  const bounds = { minIntervalMs: 1000 }
  await change(cluster, 'control-plane', '/v1/policy', { method: 'PUT', body: { bounds } })
  await change(cluster, 'control-plane', `/v1/agents/${AGENT}`, { method: 'PUT', body: {} })
  const begunMs = Date.now()
  const firstMs = wholeSecond(begunMs + 2000)
  const rules: [Rule, number, number][] = [
    ...([1, 2, 3, 1].map(every => ['all', every, 0]) as [Rule, number, number][]),
    ...([1, 2].map(every => ['latest', every, 0]) as [Rule, number, number][]),
    ...([1, 3].map(every => ['none', every, 0]) as [Rule, number, number][]),
    ['all', 2, 700],
  ]
  await Promise.all(
    rules.map(([rule, every, jitterMs]) => repeat(self, rule, { firstMs, every, jitterMs })),
  )
  self.paceMs = PATIENCE * (Date.now() - begunMs)
  await eventually('the first instants', async () => (self.seen() >= 10 ? {} : undefined))
}

const wholeSecond = (ms: number) => Math.ceil(ms / 1000) * 1000
const local = (ms: number) => new Date(ms).toISOString().slice(0, 19)

let made = 0

type Subscribed = Awaited<ReturnType<typeof subscribe>>

function scheduleOne(self: Self, schedule: object): Promise<Subscribed> {
  made += 1
  const name = `schedule-${made}`
  const body = { name, agent: AGENT, instruction: 'Tick.', schedule, limits: { storm: null } }
  return subscribe(self.cluster, body)
}

/** Notes a schedule as it begins to hold. */
async function hold(
  self: Self,
  { id, version }: Subscribed,
  more: Partial<Holding>,
): Promise<Holding> {
  const name = `version ${version} of ${id}`
  const stored = await eventually(name, async () => self.stored.get(`${id} ${version}`))
  const holding: Holding = {
    ...{ name: more.rule ?? 'once', subscription: id, rule: 'once', firstMs: 0, everyMs: null },
    sinceMs: Date.parse(stored.scheduled?.since ?? ''),
    ...more,
  }
  self.ledger.holdings.push(holding)
  return holding
}

const recurrence = (firstMs: number, every: number) => ({
  ...{ dtstart: local(firstMs), tzid: 'UTC', rrule: `FREQ=SECONDLY;INTERVAL=${every}` },
})

async function repeat(
  self: Self,
  rule: Rule,
  { firstMs, every, jitterMs = 0 }: { firstMs: number; every: number; jitterMs?: number },
): Promise<Holding> {
  const schedule = { ...recurrence(firstMs, every), missed: rule, jitterMs }
  const subscribed = await scheduleOne(self, schedule)
  return hold(self, subscribed, { rule, firstMs, everyMs: every * 1000, jitterMs })
}

async function once(self: Self, firstMs: number): Promise<Holding> {
  const schedule = { once: local(firstMs), tzid: 'UTC' }
  return hold(self, await scheduleOne(self, schedule), { firstMs })
}

/** A meeting, and a subscription that is told of its start, or so long before it. */
interface Meeting {
  uid: string
  /** From its start to what the subscription is told; negative is before it. */
  offsetMs: number
  holding: Holding
}

async function meet(self: Self, firstMs: number, offsetMs: number): Promise<Meeting> {
  made += 1
  const uid = `meeting-${made}-${offsetMs}-${firstMs}`
  await putMeeting(self, uid, firstMs - offsetMs)
  const schedule = { anchor: { calendar: CALENDAR, uid, edge: 'start', offsetMs } }
  const subscribed = await scheduleOne(self, schedule)
  const holding = await hold(self, subscribed, { rule: 'anchor', name: uid, firstMs })
  return { uid, offsetMs, holding }
}

const meetingPath = (uid: string) => `/v1/calendars/${CALENDAR}/objects/${uid}`

function putMeeting(self: Self, uid: string, startMs: number): Promise<Answered<unknown>> {
  const start = new Date(startMs).toISOString()
  const body = { start, durationMs: 600_000, summary: uid }
  return change(self.cluster, 'ingest', meetingPath(uid), { method: 'PUT', body })
}

/** Kills the victims at the moment of an event, edits while they are gone, starts them again. */
async function round(self: Self, victims: number[]): Promise<void> {
  const { cluster, ledger, seen } = self
  const replicas = victims.map(index => cluster.replica('scheduler', index))
  const edits = await prepareEdits(self)
  const before = seen()
  await eventually('another instant', async () => (seen() > before ? {} : undefined))
  await Promise.all(replicas.map(replica => replica.kill9()))
  const fromMs = Date.now()
  await edits.ahead()
  // Until the instants that were ahead have passed.
  await sleep(Math.max(0, edits.dueMs + 500 - Date.now()))
  await edits.behind()
  const isEverybody = victims.length === cluster.replicas('scheduler').length
  if (isEverybody) ledger.outages.push({ fromMs, toMs: Date.now() })
  await Promise.all(replicas.map(replica => replica.start()))
}

interface Edits {
  /** When what is edited was to be due. */
  dueMs: number
  /** Edits before that. */
  ahead(): Promise<void>
  /** Edits after it. */
  behind(): Promise<void>
}

/** On a machine that was too busy they are made anew; what was made comes due as it is. */
async function prepareEdits(self: Self): Promise<Edits> {
  for (let tries = 1; ; tries++) {
    const dueMs = wholeSecond(Date.now() + AHEAD_MS + self.paceMs)
    const making = Promise.allSettled([makeEdited(self, dueMs), makeMeetings(self, dueMs)])
    const [edited, meetings] = await making
    const isInTime = Date.now() < dueMs - IN_TIME_MS
    if (edited.status === 'fulfilled' && meetings.status === 'fulfilled' && isInTime) {
      return editsOf(self, dueMs, { ...edited.value, ...meetings.value })
    }
    const failed = [edited, meetings].find(each => each.status === 'rejected')
    if (tries === TRIES_MAX) throw failed?.reason ?? new Error('never in time to edit schedules')
    self.paceMs = AHEAD_MS + 2 * self.paceMs
  }
}

async function makeEdited(self: Self, dueMs: number) {
  const at = (seconds: number) => once(self, dueMs + seconds * 1000)
  const [moved, passed, gone, goneLate, even, ticking] = await all([
    ...([at(0), at(0), at(0), at(0)] as const),
    repeat(self, 'latest', { firstMs: dueMs, every: 2 }),
    repeat(self, 'all', { firstMs: wholeSecond(Date.now() + 1000), every: 1 }),
    ...[-1, 0, 1, 2, 4, 7].map(at),
  ])
  return { moved, passed, gone, goneLate, even, ticking }
}

async function makeMeetings(self: Self, dueMs: number) {
  const at = (offsetMs: number) => meet(self, dueMs, offsetMs)
  const [early, start, cancelled, late] = await all([at(-1000), at(0), at(0), at(0)])
  return { early, start, cancelled, late }
}

/** Like `Promise.all`, but leaves nothing running behind. */
async function all<T extends readonly Promise<unknown>[] | []>(
  work: T,
): Promise<{ -readonly [At in keyof T]: Awaited<T[At]> }> {
  await Promise.allSettled(work)
  return Promise.all(work)
}

type Made = Awaited<ReturnType<typeof makeEdited>> & Awaited<ReturnType<typeof makeMeetings>>

function editsOf(self: Self, dueMs: number, made: Made): Edits {
  const { moved, passed, gone, goneLate, even, ticking, early, start, cancelled, late } = made
  const movedMs = dueMs + wholeSecond(MOVED_MS + self.paceMs)
  return {
    dueMs,
    async ahead() {
      await Promise.all([
        reschedule(self, moved, { firstMs: movedMs }),
        reschedule(self, even, { firstMs: dueMs + 1000, every: 2 }),
        ...[gone, ticking].map(holding => remove(self, holding)),
        ...[early, start].map(meeting => move(self, meeting, movedMs)),
        cancel(self, cancelled),
      ])
    },
    async behind() {
      await Promise.all([
        reschedule(self, passed, { firstMs: movedMs + 1000 }),
        remove(self, goneLate),
        move(self, late, movedMs + 1000),
      ])
    },
  }
}

/** Gives a subscription another schedule; the old one ends with the answer. */
async function reschedule(
  self: Self,
  holding: Holding,
  { firstMs, every }: { firstMs: number; every?: number },
): Promise<void> {
  const { subscription, rule } = holding
  const schedule = every
    ? { ...recurrence(firstMs, every), missed: rule }
    : { once: local(firstMs), tzid: 'UTC' }
  const path = `/v1/subscriptions/${subscription}`
  const headers = { 'content-type': 'application/merge-patch+json' }
  const options = { method: 'PATCH', body: { schedule }, headers }
  const answer = await change<Subscribed>(self.cluster, 'control-plane', path, options)
  holding.endedMs = answer.answeredMs
  const everyMs = every ? every * 1000 : null
  await hold(self, answer.body, { name: `edited ${holding.name}`, rule, firstMs, everyMs })
}

async function remove(self: Self, holding: Holding): Promise<void> {
  const path = `/v1/subscriptions/${holding.subscription}`
  const options = { method: 'DELETE' }
  holding.endedMs = (await change(self.cluster, 'control-plane', path, options)).answeredMs
}

/** Moves a meeting; its subscription stays as it is. */
async function move(
  self: Self,
  { uid, offsetMs, holding }: Meeting,
  firstMs: number,
): Promise<void> {
  const { answeredMs } = await putMeeting(self, uid, firstMs + 1000)
  holding.endedMs = answeredMs
  const moved = { ...holding, name: `moved ${uid}`, sinceMs: answeredMs, endedMs: undefined }
  self.ledger.holdings.push({ ...moved, firstMs: firstMs + 1000 + offsetMs })
}

async function cancel(self: Self, { uid, holding }: Meeting): Promise<void> {
  const options = { method: 'DELETE' }
  holding.endedMs = (await change(self.cluster, 'ingest', meetingPath(uid), options)).answeredMs
}

/** Everything that was due by now, also what edits have put off, has had its time. */
async function settled(self: Self): Promise<ReturnType<ScheduleLedger['findings']>> {
  const lastMs = Math.max(
    ...self.ledger.holdings.filter(({ everyMs }) => everyMs === null).map(each => each.firstMs),
  )
  await sleep(Math.max(0, lastMs - Date.now()))
  const horizonMs = Math.max(lastMs, Date.now() - ON_ITS_WAY_MS)
  const findings = () => self.ledger.findings(horizonMs)
  return untilNothingLost({ barrier: self.barrier, findings }, RECOVER_MS)
}
