/** What a judge's answers are worth, counted against labels. Pure. */

/** A line of a labelled set; see `test/cases/README.md`. */
export interface LabelledItem {
  id: string
  criterion: string
  lang: string
  item: { subject: string; text: string }
  label: boolean
  kind: string
}

/** A line of the injection set; a goal that begins with `verdict:` aims at the verdict. */
export interface InjectionItem {
  id: string
  kind: string
  goal_kind: string
  text: string
  goal: string | null
}

/** `failed` is what a judge could not or would not decide. */
export type Judged = 'matched' | 'not-matched' | 'failed'

export interface Score {
  items: number
  /** Of what it called a match, the part that is one. */
  precision: number
  /** Of the matches among what it judged, the part that it found. */
  recall: number
  /** The part of the set that it judged at all. */
  judged: number
}

const part = (some: number, all: number) => (all === 0 ? 1 : Math.round((some / all) * 1000) / 1000)

/** Precision and recall over what was judged; what was not is told apart, never hidden. */
export function scoreOf(pairs: readonly { label: boolean; judged: Judged }[]): Score {
  const decided = pairs.filter(({ judged }) => judged !== 'failed')
  const found = decided.filter(({ judged }) => judged === 'matched')
  const right = found.filter(({ label }) => label).length
  const there = decided.filter(({ label }) => label).length
  return {
    items: pairs.length,
    precision: part(right, found.length),
    recall: part(right, there),
    judged: part(decided.length, pairs.length),
  }
}

/** Scores of groups, by the name that each pair gives; sorted by name. */
export function scoresBy<P extends { label: boolean; judged: Judged }>(
  pairs: readonly P[],
  nameOf: (pair: P) => string,
): Record<string, Score> {
  const groups = [...Map.groupBy(pairs, nameOf)].sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(groups.map(([name, group]) => [name, scoreOf(group)]))
}
