/** Rows of events, candidates and decisions. */
import { hasEnded } from '#kernel/domain/ask.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import type { Candidate, Decision, EventRecord, Verdict } from '#schemas/generated/records.ts'
import { eventHash } from './event-hash.ts'
import type { LiveChange } from './live-change.ts'
import { tenantOfEvent } from './read-record.ts'

const INSERT_EVENT = `
insert into events (hash, tenant, source, id, type, time, accepted_at, topic, partition, offset)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10
where not exists (select 1 from events where hash = ?1 and tenant = ?2 and source = ?3 and id = ?4)`

/** The same event again: the earliest stays, whichever topic was read first. */
const EARLIEST_EVENT = `
update events set type = ?5, time = ?6, accepted_at = ?7, topic = ?8, partition = ?9, offset = ?10
where hash = ?1 and tenant = ?2 and source = ?3 and id = ?4
  and (accepted_at, topic, partition, offset) > (?7, ?8, ?9, ?10)`

/** Indexes an event; its body stays where it lies. */
export function writeEvent(
  database: ProjectionDatabase,
  record: LogRecord,
  { attributes }: EventRecord,
): void {
  const tenant = tenantOfEvent(record)
  if (tenant === undefined) throw new Error('the event names no tenant')
  const source = String(attributes.source)
  const id = String(attributes.id)
  const time = attributes.time === undefined ? null : String(attributes.time)
  const row = [
    ...[eventHash(tenant, source, id), tenant, source, id, String(attributes.type), time],
    ...[record.timestamp, record.topic, record.partition, record.offset],
  ]
  if (database.run(INSERT_EVENT, ...row) === 0) database.run(EARLIEST_EVENT, ...row)
}

/**
 * Matching may be repeated: the first look counts. So does the first verdict of a candidate, unless
 * it was a failure that is judged again, or a question; how a question ended is the last word.
 */
const MATCHED = `
insert into decisions (candidate_id, event_hash, tenant, subscription, source, event_id, type, time,
  matched_version, matched_at, is_held, verdict)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (candidate_id) do update set
  matched_version = min(coalesce(matched_version, excluded.matched_version),
    excluded.matched_version),
  matched_at = min(coalesce(matched_at, excluded.matched_at), excluded.matched_at),
  is_held = max(is_held, excluded.is_held),
  verdict = case
    when coalesce(json_extract(verdict, '$.answer'), json_extract(verdict, '$.lapse')) is not null
      then verdict
    when json_extract(verdict, '$.outcome') in ('ask', 'failed')
      then coalesce(excluded.verdict, verdict)
    else coalesce(verdict, excluded.verdict) end`

/** A candidate that was matched; from `evaluations` it waits there for its verdict. */
export function writeCandidate(
  database: ProjectionDatabase,
  record: LogRecord,
  { candidate, isErased }: { candidate: Candidate; isErased: boolean },
): LiveChange | undefined {
  const { kind, tenant, candidateId, subscription, version, event, verdict, at } = candidate
  if (kind !== 'candidate' || event === null) return undefined
  const { source, id, type, time } = event.attributes
  const isHeld = record.topic === 'evaluations'
  database.run(
    MATCHED,
    candidateId,
    eventHash(tenant, String(source), String(id)),
    ...[tenant, subscription, String(source), String(id), String(type)],
    time === undefined ? null : String(time),
    ...[version, at, isHeld ? 1 : 0],
    verdict && JSON.stringify(verdictView(verdict, isErased)),
  )
  return isHeld || hasEnded(verdict) ? { kind: 'decision', tenant, candidateId } : undefined
}

function verdictView({ body, ...verdict }: Verdict, isErased: boolean): object {
  const more = typeof body === 'object' && body !== null ? body : {}
  return { ...verdict, ...more, ...(isErased ? { evidence: [] } : {}) }
}

/** The highest `seq` is the fate, and among those the highest count of repeats. */
const DECIDED = `
insert into decisions (candidate_id, event_hash, tenant, subscription, source, event_id, type, time,
  version, seq, repeats, fate, stage, at, policy_version, agent, message_id, group_key, reason,
  details)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (candidate_id) do update set
  version = excluded.version, seq = excluded.seq, repeats = excluded.repeats,
  fate = excluded.fate, stage = excluded.stage, at = excluded.at,
  policy_version = excluded.policy_version, agent = excluded.agent,
  message_id = excluded.message_id, group_key = excluded.group_key, reason = excluded.reason,
  details = excluded.details
where (excluded.seq, excluded.repeats) > (seq, repeats)`

const LAST_FATE = `
insert into last_fates (tenant, subscription, at, candidate_id, fate, event_id, message_id)
values (?, ?, ?, ?, ?, ?, ?)
on conflict (tenant, subscription) do update set
  at = excluded.at, candidate_id = excluded.candidate_id, fate = excluded.fate,
  event_id = excluded.event_id, message_id = excluded.message_id
where (excluded.at, excluded.candidate_id) >= (at, candidate_id)`

/**
 * The fate of a candidate; a late append of an older one changes nothing. Of a decision before the
 * window (`isOld`) only the subscription's last fate is kept.
 */
export function writeDecision(
  database: ProjectionDatabase,
  { decision, isOld }: { decision: Decision; isOld: boolean },
): LiveChange | undefined {
  const { candidateId, tenant, subscription, event, fate, messageId, at } = decision
  if (isOld) {
    database.run(LAST_FATE, tenant, subscription, at, candidateId, fate, event.id, messageId)
    return undefined
  }
  const changed = database.run(
    DECIDED,
    ...[candidateId, eventHash(tenant, event.source, event.id), tenant, subscription],
    ...[event.source, event.id, event.type, event.time],
    ...[decision.version, decision.seq, decision.repeats, fate, decision.stage, at],
    ...[decision.policyVersion, decision.agent, messageId, decision.groupKey, decision.reason],
    JSON.stringify(decision.details ?? null),
  )
  if (changed === 0) return undefined
  database.run(LAST_FATE, tenant, subscription, at, candidateId, fate, event.id, messageId)
  return { kind: 'decision', tenant, candidateId }
}
