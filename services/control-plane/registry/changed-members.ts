/** What a change changed: the members that differ, for history and audit. */
export interface ChangedMember {
  /** JSON Pointer of the member. */
  pointer: string
  before?: unknown
  after?: unknown
}

/** Members that say nothing new in a history. */
const NOISE = new Set(['version', 'updatedAt', 'startsAt', 'scheduled'])
const MEMBERS_MAX = 50

/** Differences of two documents, one level deep; nothing of a secret, since documents hold none. */
export function changedMembers(before: unknown, after: unknown): ChangedMember[] {
  const left = membersOf(before)
  const right = membersOf(after)
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...names]
    .filter(name => !NOISE.has(name))
    .filter(name => JSON.stringify(left[name]) !== JSON.stringify(right[name]))
    .slice(0, MEMBERS_MAX)
    .map(name => ({ pointer: `/${name}`, before: left[name], after: right[name] }))
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
