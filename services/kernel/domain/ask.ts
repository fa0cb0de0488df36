/**
 * A match that the judge is not sure enough of is put to a person: an *ask*. What became of it
 * travels in the body of its verdict, beside evidence and reason.
 */
import type { Candidate, Skipped, Verdict } from '#schemas/generated/records.ts'

/** What a person may say to an ask. */
export const ASK_DECISIONS = ['accept', 'ignore'] as const
export type AskDecision = (typeof ASK_DECISIONS)[number]

/** A person's answer, as it stands in the body of the verdict that it ends. */
export interface AskAnswer {
  decision: AskDecision
  /** Name of the person, such as `user:ana`. */
  by: string
  /** RFC 3339. */
  at: string
  reason?: string
}

/** Why an ask ended that nobody answered: the fate of its candidate. */
export interface AskLapse extends Skipped {
  /** RFC 3339. */
  at: string
}

/** What the body of a verdict says about its ask. */
export interface AskFacts {
  /** When it was asked first, RFC 3339. */
  askedAt?: string
  answer?: AskAnswer
  lapse?: AskLapse
}

/** Outcome of a verdict that a person answered. */
export const ANSWERED_OUTCOME = {
  accept: 'matched',
  ignore: 'not-matched',
} as const satisfies Record<AskDecision, Verdict['outcome']>

/** Reads what the judge wrote about an ask; nothing where there was none. */
export function askFactsOf(verdict: Pick<Verdict, 'body'> | null | undefined): AskFacts {
  const body = verdict?.body
  if (typeof body !== 'object' || body === null) return {}
  const { askedAt, answer, lapse } = body as AskFacts
  return {
    ...(askedAt ? { askedAt } : {}),
    ...(answer ? { answer } : {}),
    ...(lapse ? { lapse } : {}),
  }
}

/** Is it over, by an answer or without one? */
export function hasEnded(verdict: Pick<Verdict, 'body'> | null | undefined): boolean {
  const { answer, lapse } = askFactsOf(verdict)
  return answer !== undefined || lapse !== undefined
}

/**
 * The record of an answer in `evaluations`, in the order of the candidates of its subscription. It
 * carries no event: the judge holds what was asked.
 */
export function answerRecord(
  ask: { tenant: string; subscription: string; candidateId: string },
  answer: AskAnswer,
): Candidate {
  const outcome = ANSWERED_OUTCOME[answer.decision]
  return {
    ...{ kind: 'answer', version: 0, occurrenceId: '', ...ask },
    ...{ event: null, position: null, recordedAt: null, skipped: null, marker: null },
    verdict: { id: '', outcome, confidence: 1, model: 'person', cached: false, body: { answer } },
    at: Date.parse(answer.at),
  }
}
