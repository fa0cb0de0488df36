/** What people see of a session: the visible thread, the operations beside it, what woke it. */
import { instantOf } from '#kernel/domain/message-view.ts'
import type { HistoryEntry, SessionCause } from '../loop/session-store.ts'
import { byAge, type Operation } from '../operations/operation.ts'
import { type DeliverySummary, deliverySummary, toldOf } from '../operations/pending-updates.ts'

/** Newest messages and operations shown. */
const SHOWN_MAX = 200

export interface SessionView {
  session: string
  agent: string
  model: string
  /** Only `user` and `assistant`, oldest first. */
  messages: { role: 'user' | 'assistant'; text: string; messageId: string; at: string }[]
  operations: {
    id: string
    tool: string
    target: string
    state: string
    attempts: number
    delivery: string | null
    updatedAt: string
  }[]
  summary: DeliverySummary
  cause: SessionCause | null
}

export interface SessionFacts {
  session: string
  agent: string
  model: string
  entries: HistoryEntry[]
  operations: Operation[]
}

/** A pure view; nothing technical enters the thread, and what it tells counts as told at once. */
export function sessionView({ entries, operations: known, ...names }: SessionFacts): SessionView {
  const told = new Map(toldOf(known, entries, 0).map(each => [each.id, each]))
  const operations = known.map(each => ({
    ...each,
    ...told.get(each.id),
    updatedAt: each.updatedAt,
  }))
  const sorted = operations.toSorted(byAge)
  return {
    ...names,
    messages: entries.flatMap(visible).slice(-SHOWN_MAX),
    operations: sorted.slice(-SHOWN_MAX).map(operation => ({
      id: operation.id,
      tool: operation.tool,
      target: operation.target,
      state: operation.state,
      attempts: operation.attempts,
      delivery: operation.delivery,
      updatedAt: instantOf(operation.updatedAt),
    })),
    summary: deliverySummary(operations),
    cause: entries.findLast(({ cause }) => cause)?.cause ?? null,
  }
}

function visible({ item, messageId, at, shown }: HistoryEntry): SessionView['messages'] {
  if (item.role === 'tool' || item.text.trim() === '') return []
  return [{ role: item.role, text: shown ?? item.text, messageId, at: instantOf(at) }]
}
