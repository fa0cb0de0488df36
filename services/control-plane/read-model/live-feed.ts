/** Tells those who watch a tenant what has changed, after it can be read. */
import type { LiveChange } from './live-change.ts'

export type LiveListener = (changes: LiveChange[]) => void

export interface LiveFeed {
  /** Ends when the returned function is called. */
  watch(tenant: string, listener: LiveListener): () => void
  publish(changes: LiveChange[]): void
}

export function createLiveFeed(): LiveFeed {
  const listeners = new Map<string, Set<LiveListener>>()
  return {
    watch(tenant, listener) {
      const watching = listeners.get(tenant) ?? new Set()
      listeners.set(tenant, watching.add(listener))
      return () => {
        watching.delete(listener)
        if (watching.size === 0 && listeners.get(tenant) === watching) listeners.delete(tenant)
      }
    },
    publish(changes) {
      if (listeners.size === 0) return
      for (const [tenant, watching] of listeners) {
        const own = changes.filter(change => change.tenant === tenant)
        if (own.length > 0) for (const listener of watching) listener(own)
      }
    },
  }
}
