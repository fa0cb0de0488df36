/** Quotes that a verdict gave, with their origin; always untrusted content. */
import type { EventRecord, Evidence, Verdict } from '#schemas/generated/records.ts'

/** Evidence of a verdict about one event; anything malformed is left out. */
export function evidenceOf(verdict: Verdict | null, event: EventRecord): Evidence[] {
  const body = verdict?.body
  if (typeof body !== 'object' || body === null || !('evidence' in body)) return []
  if (!Array.isArray(body.evidence)) return []
  const source = String(event.attributes.source)
  return body.evidence.flatMap((item: unknown) => {
    if (typeof item !== 'object' || item === null || !('quote' in item)) return []
    const pointer = 'pointer' in item && typeof item.pointer === 'string' ? item.pointer : ''
    return typeof item.quote === 'string' ? [{ quote: item.quote, source, pointer }] : []
  })
}
