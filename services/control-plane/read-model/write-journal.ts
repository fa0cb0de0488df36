/** Rows of notices, dead letters, history, usage, and of what people did to them. */
import { POLL_STAGE } from '#kernel/domain/poll-stage.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import type {
  AuditEntry,
  DeadLetter,
  Notice,
  TableDocument,
  Usage,
} from '#schemas/generated/records.ts'
import type { LiveChange } from './live-change.ts'
import { costToNano } from './nano-cost.ts'
import { writeQuestion } from './write-mailbox.ts'

/** One notice per cause: what comes again under the same id is the same notice. */
const NOTICE = `
insert into notices (id, tenant, kind, severity, cause, owner, subscription, agent, message_id,
  text, details, at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (id) do nothing`

export function writeNotice(database: ProjectionDatabase, notice: Notice): LiveChange | undefined {
  const { id, tenant, kind, severity, cause, owner } = notice
  const changed = database.run(
    NOTICE,
    ...[id, tenant, kind, severity, cause, owner, notice.subscription, notice.agent],
    ...[notice.messageId, notice.text, JSON.stringify(notice.details ?? null), notice.at],
  )
  if (changed === 0) return undefined
  writeQuestion(database, notice)
  return { kind: 'notice', tenant, id }
}

const DEADLETTER = `
insert into deadletters (id, tenant, topic, partition, offset, code, reason, at, own_partition,
  own_offset)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (id) do nothing`

/** A record that was refused; its bytes stay in the log. */
export function writeDeadLetter(
  database: ProjectionDatabase,
  record: LogRecord,
  letter: DeadLetter,
): void {
  const { id, tenant, topic, partition, offset, code, reason, at } = letter
  database.run(
    DEADLETTER,
    ...[id, tenant, topic, partition, offset, code, reason, at, record.partition, record.offset],
  )
}

const AUDIT = `
insert into audit (change_id, tenant, kind, id, version, action, by, reason, outcome, changes, at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (change_id) do nothing`

export function writeAudit(database: ProjectionDatabase, entry: AuditEntry): void {
  const { changeId, tenant, kind, id, version, action, reason, outcome, at } = entry
  database.run(
    AUDIT,
    ...[changeId, tenant, kind, id, version, action, JSON.stringify(entry.by ?? null), reason],
    ...[outcome, JSON.stringify(entry.changes ?? null), at],
  )
}

const USAGE_SEEN = 'insert into usage_seen (key, at) values (?, ?) on conflict (key) do nothing'

const USAGE_SUM = `
insert into usage_sums (tenant, day, subscription, owner, agent, activations, polls, calls,
  input_tokens, output_tokens, cost_nano)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (tenant, day, subscription, owner, agent) do update set
  activations = activations + excluded.activations, polls = polls + excluded.polls,
  calls = calls + excluded.calls,
  input_tokens = input_tokens + excluded.input_tokens,
  output_tokens = output_tokens + excluded.output_tokens,
  cost_nano = cost_nano + excluded.cost_nano`

/** Adds what something cost, once per (subject, stage, attempt) however often it was written. */
export function writeUsage(database: ProjectionDatabase, usage: Usage): void {
  const { tenant, subject, stage, attempt, day, subscription, owner, agent } = usage
  const key = `${tenant}\n${subject}\n${stage}\n${attempt}`
  if (database.run(USAGE_SEEN, key, usage.at) === 0) return
  database.run(
    USAGE_SUM,
    ...[tenant, day, subscription, owner, agent, usage.activations],
    // Calls of models and reads of servers are no one number.
    ...(stage === POLL_STAGE ? [usage.calls, 0] : [0, usage.calls]),
    ...[usage.inputTokens, usage.outputTokens, costToNano(usage.cost)],
  )
}

/** Kinds of table documents that belong to the read model rather than to the registry. */
export const NOTICE_ACK_KIND = 'notice-ack'
export const EVENT_ERASURE_KIND = 'event-erasure'

const ACKNOWLEDGED = `
insert into acknowledgements (tenant, id, at, by) values (?, ?, ?, ?)
on conflict (tenant, id) do nothing`

/** Somebody has seen a notice; the first counts. */
export function writeAcknowledgement(
  database: ProjectionDatabase,
  ack: { tenant: string; id: string; at: number; by: string },
): void {
  database.run(ACKNOWLEDGED, ack.tenant, ack.id, ack.at, ack.by)
}

/** The members that both kinds of documents have in `doc`, read leniently. */
export function documentFacts({ doc }: TableDocument): Record<string, unknown> {
  return typeof doc === 'object' && doc !== null ? (doc as Record<string, unknown>) : {}
}
