/** `GET /v1/decisions`: one row per candidate, newest first. */
import { hasEnded } from '#kernel/domain/ask.ts'
import { instantOf } from '#kernel/domain/message-view.ts'
import { eventHash } from './event-hash.ts'
import { conditions, type Page, type PageRequest, pageOfRows, placeOf } from './page-of-rows.ts'
import type { ReadView } from './read-model.ts'

export interface DecisionFilter {
  subscription?: string | undefined
  /** Id of the event. */
  event?: string | undefined
  source?: string | undefined
  fate?: string | undefined
  /** Ms since the epoch, inclusive. */
  sinceMs?: number | undefined
  /** Ms since the epoch, exclusive. */
  untilMs?: number | undefined
}

export interface DecisionItem {
  candidateId: string
  subscription: string
  version: number
  event: { source: string; id: string; type: string; time: string | null }
  fate: string
  stage: string
  reason: string
  details: unknown
  repeats: number
  messageId?: string
  groupKey?: string
  verdict?: unknown
  policyVersion: number
  at: string
}

/** A row of `decisions` as the database gives it. */
export interface DecisionRow {
  row: number
  candidate_id: string
  tenant: string
  subscription: string
  source: string
  event_id: string
  type: string
  time: string | null
  matched_version: number | null
  matched_at: number | null
  is_held: number
  version: number | null
  seq: number
  repeats: number
  fate: string | null
  stage: string | null
  at: number | null
  policy_version: number | null
  message_id: string | null
  group_key: string | null
  reason: string | null
  details: string | null
  verdict: string | null
}

/** A matched candidate that the guard has not seen has a fate only while it waits for a verdict. */
const HAS_FATE = '(seq >= 0 or is_held = 1)'
const FATE = "coalesce(fate, 'held')"
const AT = 'coalesce(at, matched_at)'

export function listDecisions(
  { database }: ReadView,
  tenant: string,
  query: { filter: DecisionFilter; page: PageRequest },
): Page<DecisionItem> {
  const { filter, page } = query
  const { subscription, event, source, fate, sinceMs, untilMs } = filter
  const isPair = source !== undefined && event !== undefined
  const { where, values } = conditions([
    ['tenant = ?', tenant],
    ['event_hash = ?', isPair ? eventHash(tenant, source, event) : undefined],
    ['subscription = ?', subscription],
    ['event_id = ?', event],
    ['source = ?', source],
    [`${FATE} = ?`, fate],
    [`${AT} >= ?`, sinceMs],
    [`${AT} < ?`, untilMs],
    ['row < ?', placeOf('decisions', page.cursor)],
  ])
  const rows = database.all<DecisionRow>(
    `select * from decisions where ${HAS_FATE} and ${where} order by row desc limit ?`,
    ...values,
    page.limit + 1,
  )
  return pageOfRows('decisions', rows, page.limit, {
    placeOf: ({ row }) => row,
    view: decisionItem,
  })
}

/** One decision, as lists show it; undefined while it has no fate. */
export function findDecision(
  { database }: ReadView,
  candidateId: string,
): DecisionItem | undefined {
  const row = database.get<DecisionRow>(
    `select * from decisions where candidate_id = ? and ${HAS_FATE}`,
    candidateId,
  )
  return row && decisionItem(row)
}

/** Every candidate that an event gave, in the order they were matched. */
export function decisionsOfEvent(
  { database }: ReadView,
  tenant: string,
  event: { source: string; id: string },
): DecisionRow[] {
  return database.all<DecisionRow>(
    `select * from decisions
     where event_hash = ? and tenant = ? and source = ? and event_id = ?
     order by coalesce(matched_at, at), candidate_id`,
    ...[eventHash(tenant, event.source, event.id), tenant, event.source, event.id],
  )
}

/** True once the candidate has a place in the list of fates. */
export function hasFate({ seq, is_held }: DecisionRow): boolean {
  return seq >= 0 || is_held === 1
}

export function decisionItem(row: DecisionRow): DecisionItem {
  return {
    candidateId: row.candidate_id,
    subscription: row.subscription,
    version: row.version ?? row.matched_version ?? 0,
    event: { source: row.source, id: row.event_id, type: row.type, time: row.time },
    fate: row.fate ?? 'held',
    stage: row.stage ?? 'verdict',
    reason: row.reason ?? waitsFor(row),
    details: row.details === null ? null : JSON.parse(row.details),
    repeats: row.repeats,
    ...(row.message_id === null ? {} : { messageId: row.message_id }),
    ...(row.group_key === null ? {} : { groupKey: row.group_key }),
    ...(row.verdict === null ? {} : { verdict: JSON.parse(row.verdict) }),
    policyVersion: row.policy_version ?? 0,
    at: instantOf(row.at ?? row.matched_at ?? 0),
  }
}

/** Of a held candidate: what comes next. */
function waitsFor({ verdict }: DecisionRow): string {
  if (verdict === null) return 'waits-for-verdict'
  const body: unknown = JSON.parse(verdict)
  return hasEnded({ body }) ? 'waits-for-guard' : 'waits-for-answer'
}

/** The row of one candidate, decided or not. */
export function findCandidate(
  { database }: ReadView,
  candidateId: string,
): DecisionRow | undefined {
  return database.get<DecisionRow>('select * from decisions where candidate_id = ?', candidateId)
}

/** What a verdict was about, for labels. */
export function findByVerdict(
  { database }: ReadView,
  tenant: string,
  verdictId: string,
): { subscription: string; source: string; event_id: string; outcome: string } | undefined {
  return database.get(
    `select subscription, source, event_id, json_extract(verdict, '$.outcome') as outcome
     from decisions where json_extract(verdict, '$.id') = ? and verdict is not null and tenant = ?`,
    ...[verdictId, tenant],
  )
}
