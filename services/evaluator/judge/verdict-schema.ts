/** The answer of a model: what is asked of it as JSON Schema, and how it is read. */
import { z } from 'zod'

/** Most characters of a reason that are kept; a longer one is cut, not refused. */
export const REASON_CHARS_MAX = 500

const evidenceSchema = z.strictObject({ quote: z.string(), pointer: z.string() })

const verdictSchema = z.strictObject({
  item: z.int(),
  matched: z.boolean(),
  confidence: z.number().min(0).max(1),
  evidence: z.array(evidenceSchema).max(20),
  reason: z.string(),
})

/** Strict: an answer with more or other fields is none. */
export const verdictsSchema = z.strictObject({ verdicts: z.array(verdictSchema).max(200) })

export type RawVerdict = z.infer<typeof verdictSchema>

const text = { type: 'string' }

/** The strict subset that providers take: every property required, no others, no bounds. */
export const VERDICTS_JSON_SCHEMA = {
  name: 'verdicts',
  schema: strict({
    verdicts: {
      type: 'array',
      items: strict({
        item: { type: 'integer' },
        matched: { type: 'boolean' },
        confidence: { type: 'number' },
        evidence: { type: 'array', items: strict({ quote: text, pointer: text }) },
        reason: text,
      }),
    },
  }),
}

function strict(properties: Record<string, unknown>): Record<string, unknown> {
  return {
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  }
}
