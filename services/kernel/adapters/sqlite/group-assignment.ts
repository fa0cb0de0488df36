/** Which member of a group reads which stream. */
import type { Stream } from './log-topics.ts'

export interface Candidate<M> {
  member: M
  /** Streams of the topics it asked for. */
  may: ReadonlySet<Stream>
  /** Streams it owns now. */
  has: ReadonlySet<Stream>
}

/**
 * Gives every stream to one member that may have it, as evenly as that allows, and moves no
 * stream without need: an owner keeps its own up to its fair share.
 */
export function shareOut<M>(candidates: Candidate<M>[]): Map<Stream, M> {
  const all = new Set(candidates.flatMap(({ may }) => [...may]))
  const share = Math.ceil(all.size / Math.max(1, candidates.length))
  const given = new Map<Stream, M>()
  const load = new Map<M, number>(candidates.map(({ member }) => [member, 0]))
  const give = (stream: Stream, member: M) => {
    given.set(stream, member)
    load.set(member, (load.get(member) ?? 0) + 1)
  }
  for (const { member, may, has } of candidates) {
    for (const stream of has) {
      if (may.has(stream) && (load.get(member) ?? 0) < share) give(stream, member)
    }
  }
  for (const stream of all) {
    if (given.has(stream)) continue
    const [least] = candidates
      .filter(({ may }) => may.has(stream))
      .toSorted((a, b) => (load.get(a.member) ?? 0) - (load.get(b.member) ?? 0))
    if (least) give(stream, least.member)
  }
  return given
}
