/** What has finished and not entered its conversation. Views over operations; nothing is kept. */
import type { HistoryEntry } from '../loop/session-store.ts'
import { byAge, delivered, isOpen, type Operation } from './operation.ts'

/** Finished and undelivered, oldest first, by session. */
export function pendingUpdatesBySession(operations: Operation[]): Map<string, Operation[]> {
  const pending = operations.filter(({ delivery }) => delivery === 'queued').toSorted(byAge)
  return Map.groupBy(pending, ({ session }) => session)
}

/** The same as messages, for snapshots and tests written against that form. */
export function pendingSystemMessages(
  operations: Operation[],
  lineOf: (operation: Operation) => string,
): { role: 'system'; content: string }[] {
  return [...pendingUpdatesBySession(operations).values()]
    .flat()
    .map(operation => ({ role: 'system', content: lineOf(operation) }))
}

/**
 * What a message may take: undelivered results of batches that have drained. A turn leaves its own
 * batch alone: it may open more, and what one turn opens closes once.
 */
export function takeable(operations: Operation[], messageId: string): Operation[] {
  const open = new Set(operations.filter(isOpen).map(({ batch }) => batch))
  return operations
    .filter(({ batch, delivery }) => delivery === 'queued' && !open.has(batch))
    .filter(({ batch }) => batch !== messageId)
    .toSorted(byAge)
}

/** What the history tells that is not marked yet: each operation as it will be. */
export function toldOf(operations: Operation[], history: HistoryEntry[], now: number): Operation[] {
  const told = new Map(
    history.flatMap(({ messageId, tells }) =>
      tells ? tells.operations.map(id => [id, { messageId, mode: tells.mode }] as const) : [],
    ),
  )
  return operations.flatMap(operation => {
    const by = told.get(operation.id)
    return (by && delivered(operation, by, now)) ?? []
  })
}

/** Batches whose work is all over while a result waits; each with the number of its operations. */
export function drainedBatches(operations: Operation[]): { batch: string; size: number }[] {
  const batches = Map.groupBy(operations, ({ batch }) => batch)
  return [...batches]
    .filter(([, all]) => !all.some(isOpen) && all.some(({ delivery }) => delivery === 'queued'))
    .map(([batch, all]) => ({ batch, size: all.length }))
}

export type DeliverySummary =
  | 'waiting'
  | 'aggregating'
  | 'queued_final'
  | 'proactive'
  | 'next_turn'
  | 'idle'

/** One word for the page: how the results of a session stand. */
export function deliverySummary(operations: Operation[]): DeliverySummary {
  const batches = [...Map.groupBy(operations, ({ batch }) => batch).values()]
  const open = batches.filter(all => all.some(isOpen))
  if (open.some(all => !all.every(isOpen))) return 'aggregating'
  if (open.length > 0) return 'waiting'
  if (operations.some(({ delivery }) => delivery === 'queued')) return 'queued_final'
  const last = operations.toSorted((a, b) => a.updatedAt - b.updatedAt).at(-1)
  return last?.delivery === 'proactive' || last?.delivery === 'next_turn' ? last.delivery : 'idle'
}
