/** Rows of messages, their transitions, and the questions that runs ask. */
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import type { MailboxTransition, Message, Notice } from '#schemas/generated/records.ts'
import type { LiveChange } from './live-change.ts'

/** A message id is one message (I2): a second append of it changes nothing. */
const MESSAGE = `
insert into messages (id, tenant, agent, partition, offset, kind, subscription, session, created_at,
  changed_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (id) do update set
  partition = excluded.partition, offset = excluded.offset, kind = excluded.kind,
  subscription = excluded.subscription, session = excluded.session,
  created_at = excluded.created_at, changed_at = max(changed_at, excluded.changed_at)
where offset is null or excluded.offset < offset`

const ANSWERED = `
insert into approvals (id, tenant, answered_at) values (?, ?, ?)
on conflict (id) do update set answered_at = min(coalesce(answered_at, excluded.answered_at),
  excluded.answered_at)`

/** A message that was appended to a mailbox. */
export function writeMessage(
  database: ProjectionDatabase,
  record: LogRecord,
  message: Message,
): LiveChange | undefined {
  const { id, tenant, agent, kind, subscription, session, createdAt } = message
  const changed = database.run(
    MESSAGE,
    ...[id, tenant, agent, record.partition, record.offset, kind],
    ...[subscription?.id ?? null, session, createdAt, createdAt],
  )
  const answered = answeredBy(message)
  if (answered) database.run(ANSWERED, answered, tenant, createdAt)
  return changed === 0 ? undefined : { kind: 'mailbox', tenant, messageId: id }
}

/** The question that a continuation answers. */
function answeredBy({ kind, input }: Message): string | undefined {
  if (kind !== 'continuation' || typeof input !== 'object' || input === null) return undefined
  if (!('kind' in input) || input.kind !== 'answer' || !('approvalId' in input)) return undefined
  return typeof input.approvalId === 'string' ? input.approvalId : undefined
}

/** Two owners may have written the same version; the higher token is the current one's. */
const TRANSITION = `
insert into transitions (message_id, version, token, tenant, state, attempt, lease_id, executor,
  expires_at, reason, run, by, at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (message_id, version) do update set
  token = excluded.token, state = excluded.state, attempt = excluded.attempt,
  lease_id = excluded.lease_id, executor = excluded.executor, expires_at = excluded.expires_at,
  reason = excluded.reason, run = excluded.run, by = excluded.by, at = excluded.at
where excluded.token > token`

const MESSAGE_STATE = `
insert into messages (id, tenant, agent, subscription, session, state, version, token, attempts,
  run, changed_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (id) do update set
  state = excluded.state, version = excluded.version, token = excluded.token,
  attempts = excluded.attempts, run = coalesce(excluded.run, run),
  changed_at = max(changed_at, excluded.changed_at)
where (excluded.version, excluded.token) > (version, token)`

/** A step of a message; blocks of tokens, which name no message, are none. */
export function writeTransition(
  database: ProjectionDatabase,
  step: MailboxTransition,
): LiveChange | undefined {
  const { messageId, tenant, agent, state, version, token, attempt, at } = step
  if (messageId === '') return undefined
  const run = step.run === null || step.run === undefined ? null : JSON.stringify(step.run)
  database.run(
    TRANSITION,
    ...[messageId, version, token, tenant, state, attempt, step.leaseId, step.executor],
    ...[step.expiresAt, step.reason, run, step.by, at],
  )
  const changed = database.run(
    MESSAGE_STATE,
    ...[messageId, tenant, agent, step.subscription, step.session, state, version, token],
    ...[attempt, run, at],
  )
  return changed === 0 ? undefined : { kind: 'mailbox', tenant, messageId }
}

const ASKED = `
insert into approvals (id, tenant, agent, message_id, subscription, owner, question, options,
  effect, asked_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (id) do update set
  agent = excluded.agent, message_id = excluded.message_id, subscription = excluded.subscription,
  owner = excluded.owner, question = excluded.question, options = excluded.options,
  effect = excluded.effect, asked_at = excluded.asked_at
where asked_at is null`

/** A notice that asks a person carries the question. */
export function writeQuestion(database: ProjectionDatabase, notice: Notice): void {
  const { details, tenant, agent, messageId, subscription, owner, at } = notice
  if (notice.kind !== 'approval' || typeof details !== 'object' || details === null) return
  const { approvalId, question, options, effect } = details as Record<string, unknown>
  if (typeof approvalId !== 'string') return
  database.run(
    ASKED,
    ...[approvalId, tenant, agent, messageId, subscription, owner],
    typeof question === 'string' ? question : notice.text,
    ...[JSON.stringify(options ?? null), JSON.stringify(effect ?? null), at],
  )
}
