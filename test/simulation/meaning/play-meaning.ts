/** One seed of meaning, from the first connector to an idle minute without any model call. */
import { connectorSchema } from '#kernel/domain/connector.ts'
import { TABLE_OF } from '#kernel/domain/object-key.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { ask, surely } from '../editors.ts'
import { startFaultDriver } from '../fault-driver.ts'
import { unfinished, waitingCandidates } from '../quiet.ts'
import type { Random } from '../random.ts'
import { startWork } from '../seed-work.ts'
import { type Violation, violation } from '../violation.ts'
import { TENANTS, type World } from '../world.ts'
import {
  MEANING_AGENTS,
  noteOf,
  planMeaning,
  planMeaningPatch,
  planMeaningPolicy,
  planTexts,
} from './meaning-plan.ts'
import { createMeaningWorld, type MeaningBug, type MeaningWorld } from './meaning-world.ts'
import { type SimServer, urlOf } from './scripted-mcp.ts'

export interface MeaningRun extends MeaningWorld {
  isFinished: boolean
  /** Planned subscriptions, by tenant. */
  known: Map<string, string[]>
  /** The stretch in which nothing happened outside, true ms. */
  idle: { from: number; to: number; order: number }
}

export interface MeaningOptions {
  seed: number
  /** Notes that are sent, and as many things that happen to servers. */
  events: number
  isFaultless?: boolean
  bug?: MeaningBug
  /** How long nothing happens at the end, ms; longer than reservations last by default. */
  idleMs?: number
}

/** How long after the last fault everything must be finished, simulated ms. */
const QUIET_MS = 150_000
/** A reservation lasts a minute longer than a call may. */
const IDLE_MS = 70_000

export async function playMeaning(options: MeaningOptions): Promise<MeaningRun> {
  const { seed, events, isFaultless = false, bug, idleMs = IDLE_MS } = options
  const made = createMeaningWorld({ seed, isFaultless, bug })
  const { world, facts } = made
  const { clock, history, random } = world
  const known = new Map<string, string[]>()
  const work = startWork(facts, async () => {
    await setUp(made, known, random.fork('set-up'))
    startFaultDriver(world, random.fork('faults'), { phaseMs: events * 250 })
    await Promise.all([
      send(made, random.fork('notes'), events),
      fillServers(made, random.fork('items'), events),
      edit(made, known, { random: random.fork('edits'), count: Math.ceil(events / 4) }),
    ])
    await heal(made, known)
  })
  await clock.run(clock.now() + 60 * 60_000, () => work.isDone())
  history.incident('quiet')
  const isFinished = await untilQuiet(made, known, clock.now() + QUIET_MS)
  const from = clock.now()
  const order = history.order()
  await clock.run(from + idleMs, () => false)
  const idle = { from, to: clock.now(), order }
  await bug?.unplant?.()
  return { ...made, known, isFinished, idle }
}

async function setUp(
  made: MeaningWorld,
  known: Map<string, string[]>,
  random: Random,
): Promise<void> {
  for (const tenant of TENANTS) {
    for (const id of MEANING_AGENTS) {
      const body = { capabilities: { selfSubscribe: true } }
      await surely(made, tenant, { kind: 'agent', id, action: 'put', body })
    }
    const body = planMeaningPolicy(random)
    await surely(made, tenant, { kind: 'policy', id: 'policy', action: 'put', body })
    for (const server of serversOf(made, tenant)) await allow(made, tenant, server)
    const planned = planMeaning(random, tenant)
    await Promise.all(
      planned.map(({ id, body: asked }) =>
        surely(made, tenant, { kind: 'subscription', id, action: 'create', body: asked }),
      ),
    )
    known.set(
      tenant,
      planned.map(({ id }) => id),
    )
  }
}

const serversOf = ({ servers }: MeaningWorld, tenant: string) =>
  servers.servers.filter(({ name }) => name.startsWith(`${tenant}-`))

/** Somebody writes the connector, again where its tool was changed. */
async function allow(made: MeaningWorld, tenant: string, server: SimServer): Promise<void> {
  const { name, operation } = server
  const id = name.slice(tenant.length + 1)
  const input = connectorSchema.parse({
    ...{ transport: 'http', url: urlOf(name), rateLimit: { perSecond: 50, burst: 50 } },
    allow: [{ operation, maxItems: 120, timeoutMs: 1500 }],
  })
  const body = { ...input, owner: 'user:ops', pins: {}, changed: {} }
  await surely(made, tenant, { kind: 'connector', id, action: 'put', body })
}

async function send(made: MeaningWorld, random: Random, events: number): Promise<void> {
  const { clock, faults } = made.world
  const texts = planTexts(random, Math.max(6, Math.round(events / 3)))
  const sending: Promise<void>[] = []
  for (let n = 0; n < events; ) {
    const burst = random.chance(0.15) ? random.between(3, 12) : 1
    for (let each = 0; each < burst && n < events; each++, n++) {
      if (burst > 1) faults.note('F27')
      const tenant = random.pick(TENANTS)
      const own = random.chance(0.1) ? { dedupkey: `k${random.below(8)}` } : {}
      const note = noteOf(`${tenant}-n${n}`, random.pick(texts), own)
      sending.push(made.producer.publish(tenant, note))
    }
    await clock.sleep(random.between(0, burst * 450))
  }
  await Promise.all(sending)
}

/** New items, and items that change. */
async function fillServers(made: MeaningWorld, random: Random, events: number): Promise<void> {
  const { clock } = made.world
  const { servers } = made.servers
  const texts = planTexts(random, 20)
  const add = (server: SimServer) => {
    const id = `${server.name}-${server.items.length}`
    server.items.push({ id, text: random.pick(texts), at: clock.now() })
  }
  for (const server of servers) for (let n = random.below(5); n > 0; n--) add(server)
  for (let n = 0; n < events / 2; n++) {
    await clock.sleep(random.between(50, 800))
    const server = random.pick(servers)
    const old = random.pick([...server.items, undefined])
    if (old && server.operation === 'list' && random.chance(0.2)) {
      Object.assign(old, { text: `${random.pick(texts)} Again.`, at: clock.now() })
    } else if (server.items.length < 100) add(server)
  }
}

async function edit(
  made: MeaningWorld,
  known: Map<string, string[]>,
  { random, count }: { random: Random; count: number },
): Promise<void> {
  const { world } = made
  for (let n = 0; n < count; n++) {
    await world.clock.sleep(random.between(300, 2400))
    const tenant = random.pick(TENANTS)
    const id = random.pick(known.get(tenant) ?? [])
    const subscription = { kind: 'subscription', id } as const
    if (world.faults.strikes('F24', 0.5)) {
      const note = noteOf(`${tenant}-e${n}`, random.pick(planTexts(random, 3)))
      void made.producer.publish(tenant, note)
    }
    const kind = random.next()
    if (kind < 0.45) {
      const body = planMeaningPatch(random, id)
      await ask(made, tenant, { ...subscription, action: 'patch', body })
    } else if (kind < 0.6) {
      await ask(made, tenant, { ...subscription, action: 'pause', body: null })
    } else if (kind < 0.85) {
      for (const each of known.get(tenant) ?? []) await resume(made, tenant, each)
    } else {
      for (const server of serversOf(made, tenant)) {
        if (isChanged(made, tenant, server)) await allow(made, tenant, server)
      }
    }
  }
}

/** People let work again what was paused or suspended. */
async function resume(made: MeaningWorld, tenant: string, id: string): Promise<void> {
  const state = newestOf<Subscription>(made, tenant, { kind: 'subscription', id })?.state
  if (state?.operation !== 'paused' && state?.operation !== 'suspended') return
  await ask(made, tenant, { kind: 'subscription', id, action: 'resume' })
}

function isChanged(made: MeaningWorld, tenant: string, { name }: SimServer): boolean {
  const id = name.slice(tenant.length + 1)
  const doc = newestOf<{ changed: object }>(made, tenant, { kind: 'connector', id })
  return Object.keys(doc?.changed ?? {}).length > 0
}

/** The document of the highest version that the registry has written. */
export function newestOf<T>(
  { world }: Pick<MeaningWorld, 'world'>,
  tenant: string,
  { kind, id }: { kind: 'subscription' | 'connector'; id: string },
): T | undefined {
  const all = world.history.values(TABLE_OF[kind], 'table-document').map(({ value }) => value)
  const own = all.filter(each => each.tenant === tenant && each.kind === kind && each.id === id)
  return own.sort((a, b) => a.version - b.version).at(-1)?.doc as T | undefined
}

/** Faults end, and people put right what they left behind. */
async function heal(made: MeaningWorld, known: Map<string, string[]>): Promise<void> {
  const { world } = made
  world.calm()
  world.history.incident('calm')
  await world.clock.sleep(3000)
  // A suspension may still be on its way, and a changed tool unseen until it is polled.
  for (let round = 0; round < 4; round++) {
    for (const tenant of TENANTS) {
      for (const server of serversOf(made, tenant)) {
        if (isChanged(made, tenant, server)) await allow(made, tenant, server)
      }
      for (const id of known.get(tenant) ?? []) await resume(made, tenant, id)
    }
    await world.clock.sleep(4000)
  }
}

async function untilQuiet(
  made: MeaningWorld,
  known: Map<string, string[]>,
  untilMs: number,
): Promise<boolean> {
  const { clock, history } = made.world
  while (clock.now() < untilMs) {
    await clock.run(clock.now() + 2000, () => false)
    for (const tenant of TENANTS) {
      for (const id of known.get(tenant) ?? []) void resume(made, tenant, id)
    }
    const before = history.of('ingress.mcp').length
    if (unfinishedMeaning(made).length > 0) continue
    // Two more beats of the slowest observation: what is still coming comes now.
    await clock.run(clock.now() + 6000, () => false)
    if (unfinishedMeaning(made).length === 0 && history.of('ingress.mcp').length === before)
      return true
  }
  return false
}

/** What has not come to its end: also candidates that wait for a verdict. */
export function unfinishedMeaning({ world }: Pick<MeaningWorld, 'world'>): Violation[] {
  return [
    ...unfinished(world),
    ...unjudged(world).map(id =>
      violation('I1', `${id} waits for a verdict and has neither fate nor question`, id),
    ),
  ]
}

/** Candidates for the judge with no final fate and no question to a person. */
function unjudged({ history }: World): string[] {
  const verdicts = history.values('verdicts', 'verdict').map(({ value }) => value)
  const asked = new Set(
    verdicts.filter(({ outcome }) => outcome === 'ask').map(({ candidateId }) => candidateId),
  )
  return waitingCandidates(history, 'evaluations').filter(id => !asked.has(id))
}
