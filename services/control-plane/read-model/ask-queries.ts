/** Asks: matches that the judge is not sure enough of, until a person answered or they lapsed. */
import { askFactsOf, hasEnded } from '#kernel/domain/ask.ts'
import { instantOf } from '#kernel/domain/message-view.ts'
import type { DecisionRow } from './decision-queries.ts'
import { type Page, type PageRequest, pageOfRows, placeOf } from './page-of-rows.ts'
import type { ReadView } from './read-model.ts'
import { IS_ASKED } from './read-model-schema.ts'

/** One ask; evidence and `judgeReason` are words of others. */
export interface AskItem {
  /** Id of the candidate. */
  id: string
  kind: 'ask'
  subscription: string
  event: { source: string; id: string; type: string; time: string | null }
  /** The model's own statement, never a probability. */
  confidence: number
  model: string
  verdictId: string
  criterionHash: string | null
  evidence: { quote: string; source: string; pointer: string; untrusted: true }[]
  judgeReason: { text: string; untrusted: true }
  askedAt: string
}

/** A verdict as rows keep it: its members beside those of its body. */
interface StoredVerdict {
  id: string
  outcome: string
  confidence: number
  model: string
  evidence?: { quote: string; pointer: string }[]
  reason?: string
  criterionHash?: string
}

/** What waits, oldest first. */
export function listAsks({ database }: ReadView, tenant: string, page: PageRequest): Page<AskItem> {
  const rows = database.all<DecisionRow>(
    `select * from decisions where tenant = ? and row > ? and ${IS_ASKED} order by row limit ?`,
    ...[tenant, placeOf('asks', page.cursor) ?? 0, page.limit + 1],
  )
  return pageOfRows('asks', rows, page.limit, { placeOf: ({ row }) => row, view: askItem })
}

/** An ask that waits or is over. */
export interface FoundAsk {
  subscription: string
  /** Its end, where it is over. */
  end: ReturnType<typeof askFactsOf> | undefined
}

/** Undefined where nobody was asked about the candidate, or where that is no longer kept. */
export function findAsk(
  { database }: ReadView,
  tenant: string,
  candidateId: string,
): FoundAsk | undefined {
  const row = database.get<DecisionRow>(
    'select * from decisions where candidate_id = ? and tenant = ? and verdict is not null',
    ...[candidateId, tenant],
  )
  if (!row) return undefined
  const { subscription, verdict } = row
  const body: unknown = JSON.parse(verdict ?? 'null')
  if (hasEnded({ body })) return { subscription, end: askFactsOf({ body }) }
  const isAsked = (body as StoredVerdict).outcome === 'ask'
  return isAsked ? { subscription, end: undefined } : undefined
}

function askItem(row: DecisionRow): AskItem {
  const { candidate_id: id, subscription, source, event_id: eventId, type, time } = row
  const verdict = JSON.parse(row.verdict ?? '{}') as StoredVerdict
  const { askedAt } = askFactsOf({ body: verdict })
  const evidence = (verdict.evidence ?? []).map(({ quote, pointer }) => ({
    ...{ quote, source, pointer },
    untrusted: true as const,
  }))
  return {
    ...{ id, kind: 'ask', subscription },
    event: { source, id: eventId, type, time },
    ...{ confidence: verdict.confidence, model: verdict.model, verdictId: verdict.id },
    criterionHash: verdict.criterionHash ?? null,
    evidence,
    judgeReason: { text: verdict.reason ?? '', untrusted: true },
    askedAt: askedAt ?? instantOf(row.matched_at ?? 0),
  }
}
