/** What a person says of a judgement: the labelled set of a subscription. */

/** `missed`: the event should have matched and was no candidate, or was judged not to match. */
export type LabelValue = 'right' | 'wrong' | 'missed'

/** One labelled event of one subscription; a later label replaces it. */
export interface Label {
  id: string
  tenant: string
  version: number
  subscription: string
  source: string
  eventId: string
  label: LabelValue
  /** Outcome that was labelled; `not-matched` for a missed event. */
  outcome: string
  /** The verdict that was labelled. */
  verdictId: string | null
  by: string
  at: string
}

/** Should the event have matched? */
export function shouldMatch({ label, outcome }: Pick<Label, 'label' | 'outcome'>): boolean {
  if (label === 'missed') return true
  return (outcome === 'matched') === (label === 'right')
}

/** One labelled event, as a criterion judged it. */
export interface LabelledOutcome {
  should: boolean
  matched: boolean
}

/** Shares of 0 to 1; `null` where nothing of the kind was seen. */
export interface Score {
  labelled: number
  /** Of those that matched, how many should have. */
  precision: number | null
  /** Of those that should have matched, how many did. */
  recall: number | null
}

export function scoreOf(outcomes: readonly LabelledOutcome[]): Score {
  const matched = outcomes.filter(outcome => outcome.matched)
  const should = outcomes.filter(outcome => outcome.should)
  const both = matched.filter(outcome => outcome.should).length
  const share = (of: number) => (of === 0 ? null : both / of)
  return {
    labelled: outcomes.length,
    precision: share(matched.length),
    recall: share(should.length),
  }
}
