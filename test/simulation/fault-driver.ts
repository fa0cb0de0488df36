/** Faults that happen to the world rather than to a call, at moments the seed chooses. */
import type { OutgoingRecord } from '#kernel/ports/event-log.ts'
import { TOPICS } from '#topologies/topics.ts'
import type { Fault } from './faults.ts'
import type { Written } from './history.ts'
import type { Random } from './random.ts'
import { CONTINUITY_MS } from './services.ts'
import type { Act, Acts, Node, World } from './world.ts'

const ACTS: Acts = {
  F1: (world, random) => {
    const node = random.pick(world.nodes)
    if (node.process) world.crash(node.name, 'F1')
  },
  F7: (world, random) => seizeSome(world, random),
  F8: (world, random) => freeze(world, random.pick(world.nodes), random),
  F9: (world, random) => world.log.forgetOffsets(random.pick(world.plan.groups)),
  F11: world => world.store.flush(),
  F12: async (world, random) => {
    const before = world.store.snapshot()
    await world.clock.sleep(random.between(10, 1000))
    if (world.faults.isActive()) world.store.restore(before)
  },
  F14: (world, random) => during(world, random.between(200, 4000), isOn => world.setReadOnly(isOn)),
  F15: (world, random) => {
    const node = random.pick(world.nodes)
    node.skewMs = random.between(-24 * 3_600_000, 24 * 3_600_000)
    world.clock.after(random.between(500, 10_000), () => {
      node.skewMs = node.usualSkewMs
    })
  },
  F16: (world, random) =>
    random.chance(0.5)
      ? during(world, random.between(200, 3000), isOn => world.setDiskFull(isOn))
      : world.crash(random.pick(world.nodes).name, 'F16'),
  F20: (world, random) => {
    const compacted = ['subscriptions', 'policies', 'sources', 'guard.state'] as const
    world.log.compact(random.pick(compacted))
  },
  F23: (world, random) => {
    const topic = random.pick(Object.keys(TOPICS) as (keyof typeof TOPICS)[])
    const value = random.pick([Buffer.from([1, 2, 3]), Buffer.from('not avro'), Buffer.alloc(5)])
    world.log.prepareAppend([{ topic, key: `poison-${random.below(9)}`, value }])()
  },
  F28: (world, random) => lateAppend(world, random),
  F30: async (world, random) => {
    const control = world.nodes.filter(({ roles }) => roles.includes('control'))
    for (const node of control) {
      node.isHeldDown = true
      world.crash(node.name, 'F30')
    }
    await world.clock.sleep(CONTINUITY_MS + random.between(2000, 8000))
    for (const node of control) {
      node.isHeldDown = false
      world.start(node)
    }
  },
}

/** Faults that are too heavy to happen often. */
const RARE: readonly Fault[] = ['F11', 'F30', 'F9']

/**
 * Plans and plays the faults of the fault phase. Without `acts` those that every world knows, of
 * which the world's own take the place.
 */
export function startFaultDriver(
  world: World,
  random: Random,
  { phaseMs, acts = { ...ACTS, ...world.plan.acts } }: { phaseMs: number; acts?: Acts },
): void {
  for (const [name, act] of Object.entries(acts) as [Fault, Act][]) {
    if (!world.faults.on.has(name)) continue
    const times = RARE.includes(name) ? random.between(1, 2) : random.between(1, 5)
    for (let n = 0; n < times; n++) {
      const once = random.fork(`${name}/${n}`)
      world.clock.after(once.between(500, phaseMs), () => {
        if (!world.faults.isActive()) return
        world.faults.note(name)
        world.history.incident(name)
        void act(world, once)
      })
    }
  }
}

async function during(world: World, ms: number, set: (isOn: boolean) => void): Promise<void> {
  set(true)
  await world.clock.sleep(ms)
  set(false)
}

function seizeSome({ log, plan }: World, random: Random): void {
  const group = random.pick(plan.groups)
  for (const name of log.owners(group).keys()) if (random.chance(0.5)) seize(log, group, name)
}

function seize(log: World['log'], group: string, name: string): void {
  const at = name.lastIndexOf('/')
  log.seize(group, { topic: name.slice(0, at), partition: Number(name.slice(at + 1)) })
}

/** The process stands still; the log gives its partitions away and it does not know (F8). */
async function freeze(world: World, node: Node, random: Random): Promise<void> {
  const { process } = node
  if (!process) return
  process.freeze()
  await world.clock.sleep(random.between(20, 400))
  for (const group of world.plan.groups) {
    for (const [name, owner] of world.log.owners(group)) {
      if (owner.startsWith(`${process.name}#`)) seize(world.log, group, name)
    }
  }
  await world.clock.sleep(random.between(500, 8000))
  process.thaw()
}

/** Appends again what a former owner wrote: the late packet of a process that lost its place. */
function lateAppend(world: World, random: Random): void {
  const state = ['guard.state', 'subscriptions', 'policies'] as const
  const topic = random.chance(0.8)
    ? random.pick(state)
    : random.pick(Object.keys(TOPICS) as (keyof typeof TOPICS)[])
  const written = world.history.of(topic)
  const newest = new Map<string, number>()
  for (const each of written) {
    const { name, epoch } = signOf(each)
    newest.set(name, Math.max(epoch, newest.get(name) ?? 0))
  }
  const late = written.filter(each => {
    const { name, epoch } = signOf(each)
    return epoch > 0 && epoch < (newest.get(name) ?? 0)
  })
  if (late.length === 0) return
  world.log.prepareAppend([outgoing(random.pick(late))])()
}

function signOf({ record }: Written): { name: string; epoch: number } {
  const { topic, partition, headers } = record
  const fence = headers['x-fence']
  const tenant = headers.ce_tenant
  const name = `${topic}/${partition}/${tenant ? Buffer.from(tenant).toString() : ''}`
  return { name, epoch: fence ? Number(Buffer.from(fence).toString().split(' ')[1]) : 0 }
}

function outgoing({ record }: Written): OutgoingRecord {
  const { topic, key, value, headers } = record
  return {
    topic,
    key: key ? Buffer.from(key).toString() : '',
    value,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, bytes]) => [name, Buffer.from(bytes).toString()]),
    ),
  }
}
