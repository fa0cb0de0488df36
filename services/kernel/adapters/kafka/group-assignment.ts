/** Who of a group's members owns which partition. */
import { AssignerProtocol } from 'kafkajs'
import { partitionOf } from '../../domain/ids.ts'
import type { TopicPartition } from '../../ports/event-log.ts'

const { MemberMetadata, MemberAssignment } = AssignerProtocol

/** Name of the strategy; every member of a group must offer the same. */
export const ASSIGNER = 'ambit-by-partition'

/** What a member tells the group when it joins. */
export function encodeTopics(topics: string[]): Buffer {
  return MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) })
}

/** All topics that any member asks for: members may discover a new topic at different times. */
export function topicsOf(members: readonly { memberMetadata: Buffer }[]): string[] {
  const asked = members.flatMap(member => MemberMetadata.decode(member.memberMetadata)?.topics)
  return [...new Set(asked.filter(topic => topic !== undefined))].sort()
}

/**
 * Gives partition n of every topic to the same member, so that what is partitioned alike is
 * owned together. Topics of one partition are spread by name.
 */
export function assignPartitions(
  memberIds: readonly string[],
  places: readonly TopicPartition[],
): Map<string, TopicPartition[]> {
  const sorted = [...memberIds].sort()
  const single = new Set(places.map(place => place.topic))
  for (const place of places) if (place.partition > 0) single.delete(place.topic)
  const owned = new Map<string, TopicPartition[]>(sorted.map(id => [id, []]))
  for (const place of places) {
    const shift = single.has(place.topic) ? partitionOf(place.topic, sorted.length) : 0
    const owner = sorted[(place.partition + shift) % sorted.length]
    if (owner !== undefined) owned.get(owner)?.push(place)
  }
  return owned
}

/** The leader's answer to the group, in the form that the protocol wants. */
export function encodeAssignment(
  owned: Map<string, TopicPartition[]>,
): { memberId: string; memberAssignment: Buffer }[] {
  return [...owned].map(([memberId, places]) => {
    const assignment: Record<string, number[]> = Object.create(null)
    for (const { topic, partition } of places) {
      const list = assignment[topic]
      if (list) list.push(partition)
      else assignment[topic] = [partition]
    }
    const userData = Buffer.alloc(0)
    return {
      memberId,
      memberAssignment: MemberAssignment.encode({ version: 0, assignment, userData }),
    }
  })
}

/** What a member was given; empty when the group has more members than partitions. */
export function decodeAssignment(bytes: Buffer): TopicPartition[] {
  const assignment = MemberAssignment.decode(bytes)?.assignment ?? {}
  return Object.entries(assignment).flatMap(([topic, partitions]) =>
    partitions.map(partition => ({ topic, partition })),
  )
}
