/**
 * A consumer group: members, committed offsets, and who owns which partition. Every grant has a
 * generation of its own; what was granted before it is stale and may commit nothing (L4).
 * Partitions of one number move together, whatever their topic (L6).
 */
import type { Position, TopicPartition } from '../../ports/event-log.ts'
import { assignPartitions } from './assign-partitions.ts'
import { placeKey } from './memory-log-data.ts'

/** The right to read one partition for a group. */
export interface Grant extends TopicPartition {
  generation: number
}

export interface GroupMember {
  readonly id: string
  /** Partitions of the topics it reads, in a fixed order. */
  wants(): TopicPartition[]
  /** Everything it owns from now on; called at once with every change of the group. */
  onGrants(grants: Grant[]): void
}

export interface MemoryGroup {
  join(member: GroupMember): void
  leave(member: GroupMember): void
  /** Assigns again: members came, went, or topics were created. */
  rebalance(): void
  /** Takes partitions of one number from their owner; the next member gets them, else the same. */
  seize(place: TopicPartition): void
  isCurrent(grant: Grant): boolean
  committed(place: TopicPartition): number | undefined
  commit(position: Position): void
  /** Forgets committed offsets and grants everything anew (F9). */
  forgetOffsets(): void
  /** Owner of each partition, by member id. */
  owners(): Map<string, string>
}

export function createMemoryGroup(): MemoryGroup {
  const members: GroupMember[] = []
  const offsets = new Map<string, number>()
  let owners = new Map<string, string>()
  const grants = new Map<string, Grant>()
  let generation = 0

  const rebalance = () => {
    const wanted = members.map(member => ({ id: member.id, places: member.wants() }))
    const before = owners
    owners = assignPartitions(
      wanted.map(({ id, places }) => ({ id, wants: [...new Set(places.map(unitOf))] })),
      before,
    )
    generation += 1
    const places = new Map(wanted.flatMap(each => each.places).map(p => [placeKey(p), p]))
    for (const key of grants.keys()) if (!places.has(key)) grants.delete(key)
    for (const [key, place] of places) {
      const { topic, partition } = place
      const unit = unitOf(place)
      const stays = grants.has(key) && before.get(unit) === owners.get(unit)
      if (!stays) grants.set(key, { topic, partition, generation })
    }
    for (const member of [...members]) {
      const own = member.wants().filter(place => owners.get(unitOf(place)) === member.id)
      member.onGrants(own.map(place => grants.get(placeKey(place))!))
    }
  }

  return {
    join(member) {
      members.push(member)
      rebalance()
    },
    leave(member) {
      const at = members.indexOf(member)
      if (at < 0) return
      members.splice(at, 1)
      member.onGrants([])
      rebalance()
    },
    rebalance,
    seize(place) {
      const unit = unitOf(place)
      const at = members.findIndex(({ id }) => id === owners.get(unit))
      if (at < 0) return
      for (const [key, grant] of grants) if (unitOf(grant) === unit) grants.delete(key)
      owners = new Map(owners).set(unit, members[(at + 1) % members.length]!.id)
      rebalance()
    },
    isCurrent: grant => grants.get(placeKey(grant)) === grant,
    committed: place => offsets.get(placeKey(place)),
    commit: position => void offsets.set(placeKey(position), position.offset),
    forgetOffsets() {
      offsets.clear()
      grants.clear()
      rebalance()
    },
    owners: () =>
      new Map([...grants].map(([key, grant]) => [key, owners.get(unitOf(grant)) ?? ''])),
  }
}

/** What moves as a whole: all partitions of one number. */
function unitOf({ partition }: TopicPartition): string {
  return String(partition)
}
