/**
 * Answers while they come, for whoever watches. They are shown and forgotten: nothing of them is
 * kept, and what the history holds is the answer.
 */
import type { SessionKey } from '../loop/session-store.ts'

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
  const watchers = new Map<string, Set<() => void>>()
  const gathering = new Set<string>()
  const nameOf = ({ tenant, session }: SessionKey) => JSON.stringify([tenant, session])
  const tell = (name: string) => {
    for (const onChange of watchers.get(name) ?? []) onChange()
  }
  const gather = async (name: string) => {
    if (gathering.has(name)) return
    gathering.add(name)
    await clock.sleep(PACE_MS)
    gathering.delete(name)
    if (drafts.has(name)) tell(name)
  }
  return {
    set(key, messageId, text) {
      const name = nameOf(key)
      if (text !== undefined) {
        drafts.set(name, { messageId, text })
        void gather(name)
      } else if (drafts.delete(name)) tell(name)
    },
    of: key => drafts.get(nameOf(key)) ?? null,
    watch(key, onChange) {
      const name = nameOf(key)
      const all = watchers.get(name) ?? new Set()
      watchers.set(name, all.add(onChange))
      return () => {
        all.delete(onChange)
        if (all.size === 0) watchers.delete(name)
      }
    },
  }
}
