/**
 * Tables of the read model. `row` is the order of arrival, which is nearly the order of time; it
 * pages lists, and old rows are found at its beginning. Each row is a function of the log alone,
 * whatever order its topics were read in: parts that come from different topics are written by
 * upserts that commute.
 */
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'

/** Raised by every change of the tables or of their meaning: the model is then built anew. */
export const SCHEMA_VERSION = 8

/** Is the row of `decisions` an ask that waits for a person? */
export const IS_ASKED = `seq < 0 and json_extract(verdict, '$.outcome') = 'ask'
  and json_extract(verdict, '$.lapse') is null`

const TABLES = [
  `create table positions (
    topic text not null, partition integer not null, next integer not null,
    primary key (topic, partition)
  ) without rowid`,
  'create table counters (name text primary key, value integer not null) without rowid',
  // The body stays in the log; the hash finds an event by its identity with one small index.
  `create table events (
    row integer primary key, hash integer not null, tenant text not null, source text not null,
    id text not null, type text not null, time text, accepted_at integer not null,
    topic text not null, partition integer not null, offset integer not null
  )`,
  'create index events_hash on events (hash)',
  `create index events_missed on events (tenant, accepted_at) where type = 'time.missed'`,
  // One row per candidate. Matching writes the first half, the guard the second.
  `create table decisions (
    row integer primary key, candidate_id text not null unique, event_hash integer not null,
    tenant text not null, subscription text not null, source text not null,
    event_id text not null, type text not null, time text,
    matched_version integer, matched_at integer, is_held integer not null default 0,
    version integer, seq integer not null default -1, repeats integer not null default 0,
    fate text, stage text, at integer, policy_version integer, agent text,
    message_id text, group_key text, reason text, details text, verdict text
  )`,
  'create index decisions_event on decisions (event_hash)',
  'create index decisions_subscription on decisions (tenant, subscription)',
  `create index decisions_verdict on decisions (json_extract(verdict, '$.id'))
    where verdict is not null`,
  `create index decisions_asked on decisions (tenant, row) where ${IS_ASKED}`,
  `create table last_fates (
    tenant text not null, subscription text not null, at integer not null,
    candidate_id text not null, fate text not null, event_id text not null, message_id text,
    primary key (tenant, subscription)
  ) without rowid`,
  // `offset` is null until the message itself was read: its first transition may come earlier.
  `create table messages (
    row integer primary key, id text not null unique, tenant text not null, agent text not null,
    partition integer, offset integer, kind text, subscription text, session text,
    created_at integer, state text not null default 'queued', version integer not null default -1,
    token integer not null default -1, attempts integer not null default 0, run text,
    changed_at integer not null
  )`,
  'create index messages_order on messages (tenant, agent, offset)',
  'create index messages_state on messages (tenant, agent, state, offset)',
  `create table transitions (
    message_id text not null, version integer not null, token integer not null,
    tenant text not null, state text not null, attempt integer not null, lease_id text,
    executor text, expires_at integer, reason text, run text, by text, at integer not null,
    primary key (message_id, version)
  ) without rowid`,
  `create table notices (
    row integer primary key, id text not null unique, tenant text not null, kind text not null,
    severity text not null, cause text not null, owner text, subscription text, agent text,
    message_id text, text text not null, details text not null, at integer not null
  )`,
  `create table acknowledgements (
    tenant text not null, id text not null, at integer not null, by text not null,
    primary key (tenant, id)
  ) without rowid`,
  `create table erasures (
    tenant text not null, source text not null, id text not null, at integer not null,
    by text not null, primary key (tenant, source, id)
  ) without rowid`,
  `create table approvals (
    row integer primary key, id text not null unique, tenant text not null, agent text,
    message_id text, subscription text, owner text, question text, options text, effect text,
    asked_at integer, answered_at integer
  )`,
  `create table deadletters (
    row integer primary key, id text not null unique, tenant text, topic text not null,
    partition integer not null, offset integer not null, code text not null,
    reason text not null, at integer not null, own_partition integer not null,
    own_offset integer not null, redriven_at integer
  )`,
  `create table audit (
    row integer primary key, change_id text not null unique, tenant text not null,
    kind text not null, id text not null, version integer not null, action text not null,
    by text not null, reason text not null, outcome text not null, changes text not null,
    at integer not null
  )`,
  'create index audit_object on audit (tenant, kind, id)',
  // Costs are billionths of the currency's unit, so that sums are exact.
  `create table usage_seen (
    row integer primary key, key text not null unique, at integer not null
  )`,
  `create table usage_sums (
    tenant text not null, day text not null, subscription text not null, owner text not null,
    agent text not null, activations integer not null, polls integer not null,
    calls integer not null, input_tokens integer not null, output_tokens integer not null,
    cost_nano integer not null,
    primary key (tenant, day, subscription, owner, agent)
  ) without rowid`,
]

/** Makes the tables; a database of another version is emptied first. Answers true when it was. */
export function prepareTables(database: ProjectionDatabase): boolean {
  const found = database.get<{ user_version: number }>('pragma user_version')?.user_version ?? 0
  if (found === SCHEMA_VERSION) return false
  emptyTables(database)
  return true
}

/** Leaves all tables without rows, positions included: everything is read again. */
export function emptyTables(database: ProjectionDatabase): void {
  database.reset()
  database.transaction(() => {
    for (const table of TABLES) database.run(table)
    database.run(`pragma user_version = ${SCHEMA_VERSION}`)
  })
}
