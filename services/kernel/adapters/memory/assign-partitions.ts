/** Who of a group's members gets which partition: sticky, even within one, and deterministic. */

/** A member in the order of joining; `wants`: partitions of its topics, in a fixed order. */
export interface AssignableMember {
  id: string
  wants: readonly string[]
}

/**
 * Keeps owners where it can, moves as few partitions as needed, and gives each partition that
 * somebody wants to exactly one member. The answer maps partitions to member ids.
 */
export function assignPartitions(
  members: readonly AssignableMember[],
  owners: ReadonlyMap<string, string>,
): Map<string, string> {
  const assigned = new Map<string, string>()
  const load = new Map(members.map(({ id }) => [id, 0]))
  const give = (partition: string, id: string) => {
    const before = assigned.get(partition)
    if (before !== undefined) load.set(before, load.get(before)! - 1)
    assigned.set(partition, id)
    load.set(id, load.get(id)! + 1)
  }
  const idlest = (partition: string) => {
    const able = members.filter(({ wants }) => wants.includes(partition))
    return able.reduce((best, each) => (load.get(each.id)! < load.get(best.id)! ? each : best))
  }
  const all = [...new Set(members.flatMap(({ wants }) => wants))]
  for (const partition of all) {
    const owner = owners.get(partition)
    const stays = members.some(({ id, wants }) => id === owner && wants.includes(partition))
    if (stays && owner !== undefined) give(partition, owner)
  }
  for (const partition of all) {
    if (!assigned.has(partition)) give(partition, idlest(partition).id)
  }
  for (const partition of all.toReversed()) {
    const { id } = idlest(partition)
    const owner = assigned.get(partition)!
    if (load.get(owner)! - load.get(id)! > 1) give(partition, id)
  }
  return assigned
}
