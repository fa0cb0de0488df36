/**
 * The simulated world of one seed: one log, one store, and processes that run the real services
 * and can die, freeze and come back with nothing but what was durable.
 */
import { createMemoryEventLog } from '#kernel/adapters/memory/memory-event-log.ts'
import { createMemoryStateStore } from '#kernel/adapters/memory/memory-state-store.ts'
import { AmbitError } from '#kernel/errors.ts'
import { createRecordCodec, type RecordCodec } from '#schemas/codec.ts'
import { topicRow } from '#topologies/topics.ts'
import type { FaultWorld } from './fault-world.ts'
import { chooseFaults, type Fault, type Faults, PIPELINE_FAULTS } from './faults.ts'
import { faultyLog, logHooks } from './faulty-log.ts'
import { storeHooks } from './faulty-store.ts'
import { createHistory } from './history.ts'
import { createRandom, type Random } from './random.ts'
import {
  type Doors,
  type Outside,
  type Role,
  type ServiceOptions,
  startServices,
} from './services.ts'
import { createLiveness, type SimProcess } from './sim-process.ts'
import { createNodeClock, createWorldClock, type WorldClock } from './virtual-clock.ts'

export const TENANTS = ['acme', 'bravo'] as const

export const PARTITIONS = 3
/** A Saturday before the clocks of Europe change, an hour before midnight UTC. */
const START_MS = Date.UTC(2026, 2, 28, 22, 58)

/** A place where processes run, one after the other. */
export interface Node {
  name: string
  roles: readonly Role[]
  lives: number
  process: SimProcess | undefined
  /** Set while the process answers. */
  doors: Doors | undefined
  /** Ms that its clock is ahead now, and when nothing is wrong. */
  skewMs: number
  usualSkewMs: number
  /** Kept down until something starts it (F30). */
  isHeldDown: boolean
}

/** Plays one fault upon the world. */
export type Act = (world: World, random: Random) => void | Promise<void>

export type Acts = Partial<Record<Fault, Act>>

/** What kind of world it is: who runs in it, and what can go wrong. */
export interface WorldPlan {
  /** Each runs twice, or all of them in one process. */
  roles: readonly Role[]
  /** Consumer groups of these roles: their partitions are seized, their offsets lost. */
  groups: readonly string[]
  faults: readonly Fault[]
  /** Processes beside those of the services, by name; never part of the one process. */
  nodes?: readonly { name: string; roles: readonly Role[] }[]
  /** Starts a process. Default: the services that its roles name. */
  start?(process: SimProcess, options: ServiceOptions, world: World): Promise<Doors>
  /** Faults that are played otherwise here than in other worlds. */
  acts?: Acts
  /** What a process reaches beside log and store; nothing when omitted. */
  outsideOf?(process: SimProcess, world: World): Outside
  /** Looks at what a process does before anything is planted on it. */
  watch?(process: SimProcess, world: World): SimProcess
}

/** From the door to the settled message. */
export const PIPELINE_ROLES: readonly Role[] = [
  'control',
  'ingest',
  'dispatcher',
  'guard',
  'evaluator',
]

const PIPELINE_PLAN: WorldPlan = {
  roles: PIPELINE_ROLES,
  groups: ['registry', 'match', 'guard', 'mailbox-dispatcher'],
  faults: PIPELINE_FAULTS,
}

export interface World extends FaultWorld {
  seed: number
  clock: WorldClock
  codec: RecordCodec
  log: ReturnType<typeof createMemoryEventLog>
  store: ReturnType<typeof createMemoryStateStore>
  isJoined: boolean
  nodes: Node[]
  bug: Bug | undefined
  plan: WorldPlan
  storeNow(): number
  setReadOnly(isReadOnly: boolean): void
  setDiskFull(isFull: boolean): void
  start(node: Node): void
  /** Does something later, or as soon as the world is calm. */
  holdBack(ms: number, act: () => void): void
  /** A door of a live replica; rejects when none answers within ten seconds. */
  call<T>(role: Role, use: (doors: Doors) => Promise<T>): Promise<T>
  /** Everything is awake, up and on time from here on. */
  calm(): void
}

/** A fault of our own making: the simulator must find it. */
export interface Bug {
  name: string
  /** What the product would have done wrong. */
  meaning: string
  /** Gives a process ports that misbehave. */
  wrap?(process: SimProcess, world: World): SimProcess
  /** Spoils the world before anything starts. */
  plant?(world: World): void
  /** Takes back what reaches beyond the world. */
  unplant?(): void | Promise<void>
}

export interface WorldOptions {
  seed: number
  /** No faults at all. */
  isFaultless?: boolean
  bug?: Bug
  /** Default: from the door to the settled message. */
  plan?: WorldPlan
}

/** Builds the world and starts its processes. */
export function createWorld(options: WorldOptions): World {
  const { seed, isFaultless = false, bug, plan = PIPELINE_PLAN } = options
  const random = createRandom(seed)
  const isJoined = random.chance(0.25)
  const clock = createWorldClock(START_MS)
  const codec = createRecordCodec()
  const draw = { isJoined, isNone: isFaultless, among: plan.faults }
  const faults = chooseFaults(random.fork('faults'), draw)
  const network = random.fork('network')
  const store = { skewMs: 0, now: START_MS }
  let isReadOnly = false
  let isDiskFull = false
  const storeNow = () => {
    store.now = Math.max(store.now, clock.now() + store.skewMs)
    return store.now
  }
  const history = createHistory({ codec, now: () => clock.now(), storeNow })
  const shared = {
    ...{ seed, random, faults, history, clock, codec, isJoined, storeNow, bug, plan },
    intensity: random.pick([0.3, 1, 1, 3]),
    isReadOnly: () => isReadOnly,
    isDiskFull: () => isDiskFull,
    setReadOnly: (value: boolean) => {
      isReadOnly = value
    },
    setDiskFull: (value: boolean) => {
      isDiskFull = value
    },
    latency: () => clock.sleep(network.chance(0.02) ? network.below(80) : network.next() * 3),
    patience: () => clock.sleep(network.between(20, 400)),
  }
  const nodes = nodesOf(plan, { isJoined, faults, random })
  const processes = new Map<string, SimProcess>()
  const crash = (name: string, why: string) => {
    const node = nodes.find(each => each.name === name)
    if (node) crashNode(world, node, why)
  }
  const faultWorld = { ...shared, crash, processOf: (name: string) => processes.get(name) }
  const log = createMemoryEventLog({
    clock: { now: () => clock.now(), sleep: createNodeClock(quietTime(clock)).sleep },
    partitions: topic => (topicRow(topic) ? PARTITIONS : undefined),
    hooks: logHooks(faultWorld),
    onWrite: record => history.wrote(record),
  })
  for (const tenant of TENANTS) log.createTopic(`ingress.ext.${tenant}`, PARTITIONS)
  const lifetimes = random.fork('lifetimes')
  const memoryStore = createMemoryStateStore({
    now: storeNow,
    log: isJoined ? watched(log, history) : undefined,
    hooks: storeHooks(faultWorld),
    lifetime: ttlMs => {
      if (!faults.strikes('F13', 0.2)) return ttlMs
      return Math.round(ttlMs * (0.8 + lifetimes.next() * 0.4))
    },
  })
  const late = new Set<() => void>()
  const world: World = {
    ...faultWorld,
    ...{ log, store: memoryStore, nodes },
    start: node => startNode(world, node, processes),
    holdBack(ms, act) {
      const once = () => {
        if (late.delete(once)) act()
      }
      late.add(once)
      clock.after(ms, once)
    },
    call: (role, use) => callDoor(world, role, use),
    calm() {
      faults.end()
      isReadOnly = false
      isDiskFull = false
      for (const ring of late) ring()
      for (const node of nodes) {
        node.isHeldDown = false
        node.skewMs = node.usualSkewMs
        node.process?.thaw()
        if (!node.process) world.start(node)
      }
    },
  }
  bug?.plant?.(world)
  for (const node of nodes) world.start(node)
  return world
}

function nodesOf(
  { roles, nodes = [] }: WorldPlan,
  { isJoined, faults, random }: { isJoined: boolean; faults: Faults; random: Random },
): Node[] {
  const skew = faults.on.has('F15') ? random.fork('skew') : undefined
  const blank = { lives: 0, process: undefined, doors: undefined, isHeldDown: false }
  const make = (name: string, own: readonly Role[]): Node => {
    const skewMs = skew?.between(-2500, 2500) ?? 0
    return { ...blank, name, roles: own, skewMs, usualSkewMs: skewMs }
  }
  const services = isJoined
    ? [make('embedded', roles)]
    : roles.flatMap(role => [1, 2].map(n => make(`${role}-${n}`, [role])))
  return [...services, ...nodes.map(({ name, roles: own }) => make(name, own))]
}

/** Offsets that a commit of the store brings along are commits too. */
function watched(log: World['log'], history: World['history']): World['log'] {
  return {
    ...log,
    commitNow({ group, ...position }) {
      log.commitNow({ group, ...position })
      history.committed(group, position)
    },
  }
}

/** Time without skew, lateness or death: the log's own. */
const quietTime = (world: WorldClock) => ({
  world,
  skewMs: () => 0,
  ring: (act: () => void) => act(),
  whenAwake: (act: () => void) => act(),
})

function startNode(world: World, node: Node, processes: Map<string, SimProcess>): void {
  if (node.process || node.isHeldDown) return
  node.lives += 1
  const name = `${node.name}.${node.lives}`
  const random = world.random.fork(name)
  const logInstance = world.log.open(name)
  const storeInstance = world.store.open(name)
  const life = createLiveness(() => {
    logInstance.crash()
    storeInstance.crash()
  })
  const { faults, clock } = world
  const plain: SimProcess = {
    ...life,
    ...{ name, node: node.name, store: storeInstance },
    log: faultyLog(logInstance, world, life),
    ids: { random: () => random.hex() },
    clock: createNodeClock({
      world: clock,
      skewMs: () => node.skewMs,
      ring(act) {
        if (!faults.strikes('F25', 0.002)) return act()
        world.holdBack(random.pick([50, 2000, 10_000, 60_000, 600_000]), act)
      },
      whenAwake: life.whenAwake,
    }),
  }
  const { plan, bug } = world
  const watched = plan.watch?.(plain, world) ?? plain
  const process = bug?.wrap?.(watched, world) ?? watched
  processes.set(name, process)
  node.process = process
  world.history.incident(`${name} starts`)
  const { codec, history } = world
  const note = (text: string) => history.incident(text)
  const outside = plan.outsideOf?.(process, world)
  const start = plan.start ?? startServices
  start(process, { codec, roles: node.roles, note, outside }, world).then(
    doors => {
      if (node.process === process) node.doors = doors
    },
    error => {
      world.history.incident(`${name} could not start: ${String(error)}`)
      if (node.process === process) crashNode(world, node, 'start')
    },
  )
}

function crashNode(world: World, node: Node, why: string): void {
  const { process } = node
  if (!process) return
  world.history.incident(`${process.name} dies: ${why}`)
  node.process = undefined
  node.doors = undefined
  process.die()
  const downMs = world.faults.isActive() ? world.random.between(20, 4000) : 20
  world.clock.after(downMs, () => world.start(node))
}

/** How long a client waits for an answer before it turns to another replica, ms. */
const CLIENT_PATIENCE_MS = 10_000

async function callDoor<T>(
  world: World,
  role: Role,
  use: (doors: Doors) => Promise<T>,
): Promise<T> {
  const open = world.nodes.filter(({ roles, doors }) => roles.includes(role) && doors)
  const unavailable = (why: string) => new AmbitError('not-ready', `${role} ${why}`)
  if (open.length === 0) throw unavailable('has no process that answers')
  const { doors } = world.random.pick(open)
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = world.clock.after(CLIENT_PATIENCE_MS, () => reject(unavailable('did not answer')))
  try {
    return await Promise.race([use(doors as Doors), promise])
  } finally {
    timer.cancel()
  }
}
