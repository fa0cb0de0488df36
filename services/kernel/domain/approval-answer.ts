/** What a person may say to what waits: to a question of a run, or to an ask. */
import { z } from 'zod'

/** A question of a run takes all of them, an ask only `ASK_DECISIONS`. */
export const ANSWERS = ['accept', 'edit', 'respond', 'ignore'] as const

const words = z.string().max(4000).optional()

/** The body of `POST /v1/approvals/{id}`, whichever service it is for. */
export const answerSchema = z.strictObject({
  decision: z.enum(ANSWERS),
  args: z.unknown().optional(),
  text: words,
  reason: words,
})
