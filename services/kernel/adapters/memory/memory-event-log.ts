/**
 * An EventLog in memory, for the simulated host: deterministic, without real timers, with places
 * to plant faults. One world holds topics and groups; every process opens an instance of its own.
 */
import type { Clock } from '../../ports/clock.ts'
import type {
  ConsumeOptions,
  EventLog,
  FollowOptions,
  LogRecord,
  OutgoingRecord,
  Position,
  TopicPartition,
} from '../../ports/event-log.ts'
import {
  answerAlive,
  callWithHooks,
  createMemoryInstance,
  type MemoryHooks,
  type MemoryInstance,
} from './memory-instance.ts'
import {
  compactPartition,
  createLogData,
  dropBelow,
  type MemoryLogData,
  type MemoryPartition,
  recordAt,
} from './memory-log-data.ts'
import { type MemoryFollower, startFollower } from './memory-log-follower.ts'
import { createMemoryGroup, type MemoryGroup } from './memory-log-group.ts'
import { joinGroup, type MemoryMember, notOwner } from './memory-log-member.ts'

/** One call of an instance, as the hooks see it. */
export type LogCall = { instance: string } & (
  | { op: 'append'; records: OutgoingRecord[] }
  | { op: 'commit'; group: string; position: Position }
  | { op: 'consume' | 'follow' | 'endOffsets' | 'lag'; topics: string[] }
  | { op: 'readAt'; positions: Position[] }
)

export interface MemoryEventLogOptions {
  /** Gives records their time and retries their pauses. */
  clock: Clock
  /** Partitions of topics that are not created by hand; undefined: there is no such topic. */
  partitions?(topic: string): number | undefined
  hooks?: MemoryHooks<LogCall>
  /** Sees every record at the moment it is written, in the one order of the whole log. */
  onWrite?(record: LogRecord): void
}

/** An instance as one process holds it. */
export interface MemoryEventLogInstance extends EventLog {
  /**
   * Ends the process: its members leave at once, its calls are never answered, and handlers that
   * still run own nothing.
   */
  crash(): void
}

export interface MemoryEventLog {
  /** A client for one process; `name` tells hooks whose call it is. */
  open(name?: string): MemoryEventLogInstance
  createTopic(topic: string, partitions: number): void
  /** Everything a topic holds, by partition and offset. */
  records(topic: string): LogRecord[]
  /** Of each key keeps the newest record only; tombstones go too (F20). */
  compact(topic: string): void
  /** Retention: removes records below an offset. */
  dropBelow(position: Position): void
  /** Takes a partition from its owner in the middle of its work (F7, F8). */
  seize(group: string, place: TopicPartition): void
  /** The group reads from the start again (F9). */
  forgetOffsets(group: string): void
  /** Owner of each `topic/partition`, by the id of the member. */
  owners(group: string): Map<string, string>
  /** Chooses partitions and throws on unknown topics; the returned function writes. */
  prepareAppend(records: OutgoingRecord[]): () => Position[]
  /** Stores a group's offset without asking who owns the partition. */
  commitNow(at: Position & { group: string }): void
}

const EXT_INGRESS = 'ingress.ext.'

interface World {
  options: MemoryEventLogOptions
  data: MemoryLogData
  groups: Map<string, MemoryGroup>
  followers: Set<MemoryFollower>
  joined: number
}

/** Creates a log without records. */
export function createMemoryEventLog(options: MemoryEventLogOptions): MemoryEventLog {
  const { clock, partitions = () => undefined, onWrite } = options
  const data = createLogData({ now: () => clock.now(), partitions, onWrite })
  const world: World = { options, data, groups: new Map(), followers: new Set(), joined: 0 }
  let opened = 0
  return {
    open: (name = `log-${opened}`) => {
      opened += 1
      return openInstance(world, createMemoryInstance(name))
    },
    createTopic(topic, count) {
      data.create(topic, count)
      for (const group of world.groups.values()) group.rebalance()
      for (const follower of world.followers) follower.refresh()
    },
    records: topic => (data.topic(topic) ?? []).flatMap(({ records }) => records),
    compact: topic => data.topic(topic)?.forEach(compactPartition),
    dropBelow: position => {
      const place = data.partition(position)
      if (place) dropBelow(place, position.offset)
    },
    seize: (group, place) => groupOf(world, group).seize(place),
    forgetOffsets: group => groupOf(world, group).forgetOffsets(),
    owners: group => groupOf(world, group).owners(),
    prepareAppend: records => data.prepareAppend(records),
    commitNow: ({ group, ...position }) => groupOf(world, group).commit(position),
  }
}

function groupOf(world: World, name: string): MemoryGroup {
  const known = world.groups.get(name)
  if (known) return known
  const made = createMemoryGroup()
  world.groups.set(name, made)
  return made
}

interface Own {
  instance: MemoryInstance
  members: Set<MemoryMember>
  followers: Set<MemoryFollower>
  call<T>(call: Call, effect: () => T): Promise<T>
}

/** `LogCall` without the name, which the instance adds. */
type Call = LogCall extends infer C ? (C extends LogCall ? Omit<C, 'instance'> : never) : never

function openInstance(world: World, instance: MemoryInstance): MemoryEventLogInstance {
  const { hooks = {} } = world.options
  const at = { instance, hooks, code: 'log-unavailable' } as const
  const own: Own = {
    instance,
    members: new Set(),
    followers: new Set(),
    call: (call, effect) =>
      callWithHooks(at, { instance: instance.name, ...call } as LogCall, effect),
  }
  return {
    append: records =>
      own.call({ op: 'append', records }, () => world.data.prepareAppend(records)()),
    consume: options =>
      own.call({ op: 'consume', topics: options.topics }, () => consume(world, own, options)),
    follow: options =>
      own.call({ op: 'follow', topics: options.topics }, () => follow(world, own, options)),
    endOffsets: topics =>
      own.call({ op: 'endOffsets', topics }, () =>
        placesOf(world, topics).map(({ topic, partition, end }) => ({
          topic,
          partition,
          offset: end,
        })),
      ),
    readAt: positions =>
      own.call({ op: 'readAt', positions }, () =>
        positions.map(position => {
          const place = world.data.partition(position)
          return place && recordAt(place, position.offset)
        }),
      ),
    lag: (group, topics) => own.call({ op: 'lag', topics }, () => lagOf(world, group, topics)),
    stop: () => stopAll(world, own),
    crash: () => crash(world, own),
  }
}

function placesOf(world: World, topics: string[]): MemoryPartition[] {
  return topics.flatMap(topic => world.data.topic(topic) ?? [])
}

/** Partitions that a consumer or follower reads, outside producers' topics last. */
function wants(
  world: World,
  { topics, withExtIngress }: { topics: string[]; withExtIngress?: boolean },
): TopicPartition[] {
  const ext = withExtIngress ? world.data.names().filter(name => name.startsWith(EXT_INGRESS)) : []
  return placesOf(world, [...new Set([...topics, ...ext.sort()])])
}

function lagOf(world: World, group: string, topics: string[]) {
  const { committed } = groupOf(world, group)
  return placesOf(world, topics).map(place => {
    const { topic, partition, end, records } = place
    return { topic, partition, lag: end - (committed(place) ?? records[0]?.offset ?? end) }
  })
}

function consume(world: World, own: Own, options: ConsumeOptions) {
  const group = groupOf(world, options.group)
  world.joined += 1
  const member = joinGroup({
    id: `${own.instance.name}#${world.joined}`,
    data: world.data,
    group,
    clock: world.options.clock,
    options,
    wants: () => wants(world, options),
    commit: ({ topic, partition }, offset, isOwned) => {
      const position = { topic, partition, offset }
      return own.call({ op: 'commit', group: options.group, position }, () => {
        if (!isOwned()) throw notOwner(position)
        group.commit(position)
      })
    },
  })
  own.members.add(member)
  const stop = async () => {
    if (own.instance.isDead()) return
    await member.stop()
    own.members.delete(member)
  }
  return { stop }
}

function follow(world: World, own: Own, options: FollowOptions) {
  const { data } = world
  const { clock } = world.options
  const follower = startFollower({ data, clock, options, wants: () => wants(world, options) })
  world.followers.add(follower)
  own.followers.add(follower)
  const stop = async () => {
    if (own.instance.isDead()) return
    world.followers.delete(follower)
    own.followers.delete(follower)
    await follower.stop()
  }
  const barrier = (timeoutMs?: number) =>
    answerAlive(own.instance, () => follower.barrier(timeoutMs))
  return { barrier, stop }
}

async function stopAll(world: World, own: Own): Promise<void> {
  if (own.instance.isDead()) return
  for (const follower of own.followers) world.followers.delete(follower)
  await Promise.all([...own.members, ...own.followers].map(each => each.stop()))
  own.instance.stop()
}

function crash(world: World, own: Own): void {
  own.instance.die()
  for (const follower of own.followers) {
    world.followers.delete(follower)
    follower.abandon()
  }
  for (const member of own.members) member.abandon()
}
