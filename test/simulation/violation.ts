/** What a check found broken. */
export interface Violation {
  invariant: string
  text: string
  /** Ids by which the trace can be read. */
  ids: string[]
}

export function violation(invariant: string, text: string, ...ids: string[]): Violation {
  return { invariant, text, ids }
}

/** Violations kept for one invariant: the first ones tell. */
const KEPT = 3

/** The first few violations of each invariant, in their order. */
export function firstOfEach(found: readonly Violation[]): Violation[] {
  const counts = new Map<string, number>()
  return found.filter(({ invariant }) => {
    const count = (counts.get(invariant) ?? 0) + 1
    counts.set(invariant, count)
    return count <= KEPT
  })
}
