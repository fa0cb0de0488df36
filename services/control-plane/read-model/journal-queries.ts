/** Notices, dead letters, history and usage; newest first. */
import { instantOf } from '#kernel/domain/message-view.ts'
import { nanoToCost } from './nano-cost.ts'
import { conditions, type Page, type PageRequest, pageOfRows, placeOf } from './page-of-rows.ts'
import type { ReadView } from './read-model.ts'
import { withoutSecrets } from './without-secrets.ts'

export interface NoticeItem {
  id: string
  kind: string
  severity: string
  cause: string
  owner: string | null
  subscription?: string
  agent?: string
  messageId?: string
  text: string
  details: unknown
  at: string
  ackAt?: string
  ackBy?: string
}

interface NoticeRow {
  row: number
  id: string
  kind: string
  severity: string
  cause: string
  owner: string | null
  subscription: string | null
  agent: string | null
  message_id: string | null
  text: string
  details: string
  at: number
  ack_at: number | null
  ack_by: string | null
}

const NOTICES = `
select n.*, a.at as ack_at, a.by as ack_by
from notices n left join acknowledgements a on a.tenant = n.tenant and a.id = n.id`

export function listNotices(
  { database }: ReadView,
  tenant: string,
  page: PageRequest,
): Page<NoticeItem> {
  const { where, values } = conditions([
    ['n.tenant = ?', tenant],
    ['n.row < ?', placeOf('notices', page.cursor)],
  ])
  const rows = database.all<NoticeRow>(
    `${NOTICES} where ${where} order by n.row desc limit ?`,
    ...values,
    page.limit + 1,
  )
  return pageOfRows('notices', rows, page.limit, { placeOf: ({ row }) => row, view: noticeItem })
}

export function findNotice(
  { database }: ReadView,
  tenant: string,
  id: string,
): NoticeItem | undefined {
  const sql = `${NOTICES} where n.id = ? and n.tenant = ?`
  const row = database.get<NoticeRow>(sql, id, tenant)
  return row && noticeItem(row)
}

function noticeItem(row: NoticeRow): NoticeItem {
  const { id, kind, severity, cause, owner, text } = row
  return {
    ...{ id, kind, severity, cause, owner },
    ...(row.subscription === null ? {} : { subscription: row.subscription }),
    ...(row.agent === null ? {} : { agent: row.agent }),
    ...(row.message_id === null ? {} : { messageId: row.message_id }),
    text,
    details: JSON.parse(row.details),
    at: instantOf(row.at),
    ...(row.ack_at === null ? {} : { ackAt: instantOf(row.ack_at) }),
    ...(row.ack_by === null ? {} : { ackBy: row.ack_by }),
  }
}

export interface DeadLetterItem {
  id: string
  topic: string
  partition: number
  offset: number
  code: string
  reason: string
  at: string
  redrivenAt?: string
}

export interface DeadLetterRow {
  row: number
  id: string
  topic: string
  partition: number
  offset: number
  code: string
  reason: string
  at: number
  redriven_at: number | null
  own_partition: number
  own_offset: number
}

/** Letters that name no tenant are shown to `isOperator` only. */
export interface LetterScope {
  tenant: string
  isOperator: boolean
}

const IN_SCOPE = '(tenant = ? or (tenant is null and ?))'
const scopeValues = ({ tenant, isOperator }: LetterScope) => [tenant, isOperator ? 1 : 0]

export function listDeadLetters(
  { database }: ReadView,
  scope: LetterScope,
  page: PageRequest,
): Page<DeadLetterItem> {
  const rows = database.all<DeadLetterRow>(
    `select * from deadletters where ${IN_SCOPE} and row < ? order by row desc limit ?`,
    ...scopeValues(scope),
    placeOf('deadletter', page.cursor) ?? Number.MAX_SAFE_INTEGER,
    page.limit + 1,
  )
  return pageOfRows('deadletter', rows, page.limit, {
    placeOf: ({ row }) => row,
    view: deadLetterItem,
  })
}

export function findDeadLetter(
  { database }: ReadView,
  scope: LetterScope,
  id: string,
): DeadLetterRow | undefined {
  const sql = `select * from deadletters where id = ? and ${IN_SCOPE}`
  return database.get<DeadLetterRow>(sql, id, ...scopeValues(scope))
}

/** Remembered in this copy only; after a rebuild a letter may be sent again, which is harmless. */
export function markRedriven({ database }: ReadView, id: string, atMs: number): void {
  database.run('update deadletters set redriven_at = ? where id = ?', atMs, id)
}

export function deadLetterItem(row: DeadLetterRow): DeadLetterItem {
  const { id, topic, partition, offset, code, reason, at, redriven_at } = row
  return {
    ...{ id, topic, partition, offset, code, reason },
    at: instantOf(at),
    ...(redriven_at === null ? {} : { redrivenAt: instantOf(redriven_at) }),
  }
}

export interface AuditItem {
  changeId: string
  kind: string
  id: string
  version: number
  action: string
  by: unknown
  reason: string
  outcome: string
  changes: unknown
  at: string
}

interface AuditRow extends Omit<AuditItem, 'changeId' | 'at' | 'by' | 'changes'> {
  row: number
  change_id: string
  by: string
  changes: string
  at: number
}

export interface AuditFilter {
  kind?: string | undefined
  id?: string | undefined
  outcome?: string | undefined
}

/** Changes of a tenant's objects, applied and refused. */
export function listAudit(
  { database }: ReadView,
  tenant: string,
  { filter, page }: { filter: AuditFilter; page: PageRequest },
): Page<AuditItem> {
  const { where, values } = conditions([
    ['tenant = ?', tenant],
    ['kind = ?', filter.kind],
    ['id = ?', filter.id],
    ['outcome = ?', filter.outcome],
    ['row < ?', placeOf('audit', page.cursor)],
  ])
  const rows = database.all<AuditRow>(
    `select * from audit where ${where} order by row desc limit ?`,
    ...values,
    page.limit + 1,
  )
  return pageOfRows('audit', rows, page.limit, {
    placeOf: ({ row }) => row,
    view: ({ row: _row, change_id, by, changes, at, ...shown }) => ({
      changeId: change_id,
      kind: shown.kind,
      id: shown.id,
      version: shown.version,
      action: shown.action,
      by: JSON.parse(by),
      reason: shown.reason,
      outcome: shown.outcome,
      changes: withoutSecrets(JSON.parse(changes)),
      at: instantOf(at),
    }),
  })
}

/** What usage may be summed by. */
export const USAGE_KEYS = ['subscription', 'owner', 'tenant', 'day', 'agent'] as const
export type UsageKey = (typeof USAGE_KEYS)[number]

export interface UsageItem {
  [key: string]: string | number
  activations: number
  /** Reads of MCP servers. */
  polls: number
  /** Calls of models. */
  calls: number
  inputTokens: number
  outputTokens: number
  totalTokens: number
  /** Decimal, in the policy's currency. */
  cost: string
}

interface UsageRow {
  key: string
  activations: number
  polls: number
  calls: number
  input_tokens: number
  output_tokens: number
  cost_nano: string
}

/** Sums per value of `by`, days counted in the tenant's zone; `since` and `until` are days. */
export function listUsage(
  { database }: ReadView,
  tenant: string,
  query: {
    by: UsageKey
    since?: string | undefined
    until?: string | undefined
    page: PageRequest
  },
): Page<UsageItem> {
  const { by, since, until, page } = query
  const skip = placeOf('usage', page.cursor) ?? 0
  const { where, values } = conditions([
    ['tenant = ?', tenant],
    ['day >= ?', since],
    ['day <= ?', until],
  ])
  const rows = database.all<UsageRow>(
    `select ${by} as key, sum(activations) as activations, sum(polls) as polls,
       sum(calls) as calls,
       sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
       cast(sum(cost_nano) as text) as cost_nano
     from usage_sums where ${where} group by ${by} order by ${by} limit ? offset ?`,
    ...[...values, page.limit + 1, skip],
  )
  return pageOfRows('usage', rows, page.limit, {
    placeOf: () => skip + page.limit,
    view: row => ({
      [by]: row.key,
      activations: row.activations,
      polls: row.polls,
      calls: row.calls,
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      totalTokens: row.input_tokens + row.output_tokens,
      cost: nanoToCost(BigInt(row.cost_nano)),
    }),
  })
}
