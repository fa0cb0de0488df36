/**
 * Answers while they come, for whoever watches. They are shown and forgotten: nothing of them is
 * kept, and what the history holds is the answer.
 */
import type { SessionKey } from '../loop/session-store.ts'
import { sessionPartitionKey } from '../storage/session-table.ts'
import { createWatchers } from './watchers.ts'

export interface Draft {
  messageId: string
  /** All that has come so far. */
  text: string
}

export interface Drafts {
  /** The text so far; undefined ends the draft. */
  set(key: SessionKey, messageId: string, text: string | undefined): void
  of(key: SessionKey): Draft | null
  /** Calls back after a change until the returned function is called; changes are gathered. */
  watch(key: SessionKey, onChange: () => void): () => void
}

/** Least ms between two looks at a draft that grows; its end is told at once. */
const PACE_MS = 50

export function createDrafts(clock: { sleep(ms: number): Promise<void> }): Drafts {
  const drafts = new Map<string, Draft>()
  const gathering = new Set<string>()
  const { watch, tell } = createWatchers()
  const gather = async (key: SessionKey) => {
    const name = sessionPartitionKey(key)
    if (gathering.has(name)) return
    gathering.add(name)
    await clock.sleep(PACE_MS)
    gathering.delete(name)
    if (drafts.has(name)) tell(key)
  }
  return {
    set(key, messageId, text) {
      const name = sessionPartitionKey(key)
      if (text !== undefined) {
        drafts.set(name, { messageId, text })
        void gather(key)
      } else if (drafts.delete(name)) tell(key)
    },
    of: key => drafts.get(sessionPartitionKey(key)) ?? null,
    watch,
  }
}
