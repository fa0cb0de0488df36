/** Mailboxes and their messages, and the questions that wait for a person. */
import { instantOf, type MessageView, messageView } from '#kernel/domain/message-view.ts'
import { conditions, type Page, type PageRequest, pageOfRows, placeOf } from './page-of-rows.ts'
import type { ReadView } from './read-model.ts'

/** How many messages a mailbox holds in each state. */
export interface MailboxSummary {
  agent: string
  messages: Record<string, number>
}

/** Mailboxes that have had messages, by agent. */
export function listMailboxes(
  { database }: ReadView,
  tenant: string,
  page: { limit: number; cursor?: string | undefined },
): Page<MailboxSummary> {
  const after = page.cursor ? Buffer.from(page.cursor, 'base64url').toString() : ''
  const agents = database.all<{ agent: string }>(
    `select distinct agent from messages where tenant = ? and agent > ? and offset not null
     order by agent limit ?`,
    ...[tenant, after, page.limit + 1],
  )
  const items = agents.slice(0, page.limit).map(({ agent }) => ({
    agent,
    messages: Object.fromEntries(
      database
        .all<{ state: string; count: number }>(
          `select state, count(*) as count from messages
           where tenant = ? and agent = ? and offset not null group by state`,
          tenant,
          agent,
        )
        .map(({ state, count }) => [state, count]),
    ),
  }))
  const last = items.at(-1)
  const isMore = agents.length > page.limit && last !== undefined
  return { items, next: isMore ? Buffer.from(last.agent).toString('base64url') : null }
}

interface MessageRow {
  id: string
  agent: string
  partition: number
  offset: number
  state: string
  attempts: number
  run: string | null
}

const COLUMNS = 'id, agent, partition, offset, state, attempts, run'

/** Whole messages of one mailbox in the order they were accepted. */
export async function listMessages(
  view: ReadView,
  { tenant, agent, state }: { tenant: string; agent: string; state?: string | undefined },
  page: PageRequest,
): Promise<Page<MessageView>> {
  const { where, values } = conditions([
    ['tenant = ?', tenant],
    ['agent = ?', agent],
    ['state = ?', state],
    ['offset > ?', placeOf('messages', page.cursor) ?? -1],
  ])
  const rows = view.database.all<MessageRow>(
    `select ${COLUMNS} from messages where ${where} order by offset limit ?`,
    ...values,
    page.limit + 1,
  )
  const { items, next } = pageOfRows('messages', rows, page.limit, {
    placeOf: ({ offset }) => offset,
    view: row => row,
  })
  return { items: await viewMessages(view, items), next }
}

/** One message of the tenant, whole; undefined when it is unknown or its body is gone. */
export async function findMessage(
  view: ReadView,
  tenant: string,
  id: string,
): Promise<MessageView | undefined> {
  const row = view.database.get<MessageRow>(
    `select ${COLUMNS} from messages where id = ? and tenant = ? and offset not null`,
    id,
    tenant,
  )
  return row && (await viewMessages(view, [row]))[0]
}

async function viewMessages(view: ReadView, rows: MessageRow[]): Promise<MessageView[]> {
  const bodies = await view.bodies.messages(rows)
  return rows.flatMap((row, at) => {
    const message = bodies[at]
    if (!message) return []
    const run: unknown = row.run === null ? undefined : JSON.parse(row.run)
    return [messageView(message, { state: row.state, attempts: row.attempts, run })]
  })
}

/** What people watching a mailbox see of a change. */
export interface MailboxChange {
  messageId: string
  agent: string
  subscription: string | null
  state: string
  attempts: number
  at: string
}

export function findMailboxChange({ database }: ReadView, id: string): MailboxChange | undefined {
  const row = database.get<{
    agent: string
    subscription: string | null
    state: string
    attempts: number
    changed_at: number
  }>('select agent, subscription, state, attempts, changed_at from messages where id = ?', id)
  if (!row) return undefined
  const { changed_at, ...shown } = row
  return { messageId: id, ...shown, at: instantOf(changed_at) }
}

/** A question of a run that nobody has answered. */
export interface QuestionItem {
  id: string
  kind: 'question'
  agent: string | null
  messageId: string | null
  subscription: string | null
  owner: string | null
  question: string
  options: unknown
  effect: unknown
  askedAt: string
}

interface QuestionRow {
  row: number
  id: string
  agent: string | null
  message_id: string | null
  subscription: string | null
  owner: string | null
  question: string
  options: string
  effect: string
  asked_at: number
}

/** Oldest first: who waits longest is asked for first. */
export function listQuestions(
  { database }: ReadView,
  tenant: string,
  page: PageRequest,
): Page<QuestionItem> {
  const rows = database.all<QuestionRow>(
    `select * from approvals
     where tenant = ? and row > ? and asked_at not null and answered_at is null
     order by row limit ?`,
    ...[tenant, placeOf('approvals', page.cursor) ?? 0, page.limit + 1],
  )
  return pageOfRows('approvals', rows, page.limit, {
    placeOf: ({ row }) => row,
    view: row => ({
      id: row.id,
      kind: 'question',
      agent: row.agent,
      messageId: row.message_id,
      subscription: row.subscription,
      owner: row.owner,
      question: row.question,
      options: JSON.parse(row.options),
      effect: JSON.parse(row.effect),
      askedAt: instantOf(row.asked_at),
    }),
  })
}
