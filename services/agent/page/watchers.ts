/** Whoever looks at a session, and is called back when something of it changes. */
import type { SessionKey } from '../loop/session-store.ts'
import { sessionPartitionKey } from '../storage/session-table.ts'

export interface Watchers {
  /** Calls back each time that the session is told, until the returned function is called. */
  watch(key: SessionKey, onChange: () => void): () => void
  tell(key: SessionKey): void
}

/** Nobody watches yet; a session that nobody watches any more is forgotten. */
export function createWatchers(): Watchers {
  const watchers = new Map<string, Set<() => void>>()
  return {
    watch(key, onChange) {
      const name = sessionPartitionKey(key)
      const all = watchers.get(name) ?? new Set()
      watchers.set(name, all.add(onChange))
      return () => {
        all.delete(onChange)
        if (all.size === 0) watchers.delete(name)
      }
    },
    tell(key) {
      for (const onChange of watchers.get(sessionPartitionKey(key)) ?? []) onChange()
    },
  }
}
