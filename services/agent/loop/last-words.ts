import type { HistoryEntry } from './session-store.ts'

/** What a message's turn has kept so far, without what was said beside it. */
export function entriesOf(history: HistoryEntry[], messageId: string): HistoryEntry[] {
  return history.filter(entry => entry.messageId === messageId && !entry.isAside)
}

/** The words with which a message's turn ended; undefined while it has not. */
export function lastWordsOf(history: HistoryEntry[], messageId: string): HistoryEntry | undefined {
  const last = entriesOf(history, messageId).at(-1)
  return last?.item.role === 'assistant' && last.item.toolCalls.length === 0 ? last : undefined
}
