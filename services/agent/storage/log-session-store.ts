/** Histories on `agent.sessions`, intents on `agent.operations`, fenced by the lease's token. */
import {
  type BatchIntent,
  type HistoryEntry,
  LeaseLost,
  type SessionKey,
  type SessionStore,
} from '../loop/session-store.ts'
import type { Place, SessionTable } from './session-table.ts'

/** What a session is kept as. */
export interface SessionDocument {
  /** The highest token that wrote. */
  token: number
  entries: HistoryEntry[]
}

interface IntentDocument {
  token: number
  intent: BatchIntent | null
}

/** Bounds of one history; whole turns are forgotten from its beginning. */
const ENTRIES_MAX = 400
const CHARACTERS_MAX = 400_000

export function sessionPlace(key: SessionKey): Place {
  return { ...key, topic: 'agent.sessions', kind: 'session', id: 'history' }
}

/** The store of whoever holds the lease; an older token than one that wrote is refused. */
export function createLogSessionStore(table: SessionTable, token: () => number): SessionStore {
  const intentPlace = (key: SessionKey): Place => ({
    ...{ ...key, topic: 'agent.operations', kind: 'intent', id: 'open' },
  })
  const fenced = <T extends { token: number }>(current: T | undefined) => {
    if ((current?.token ?? 0) > token()) throw new LeaseLost()
    return token()
  }
  const setIntent = async (
    key: SessionKey,
    next: (now: BatchIntent | null) => BatchIntent | null,
  ) => {
    await table.update<IntentDocument>(intentPlace(key), current => ({
      token: fenced(current),
      intent: next(current?.intent ?? null),
    }))
  }
  return {
    async history(key) {
      await table.barrier()
      return table.get<SessionDocument>(sessionPlace(key))?.entries ?? []
    },
    async append(key, entries) {
      await table.update<SessionDocument>(sessionPlace(key), current => ({
        token: fenced(current),
        entries: bounded([...(current?.entries ?? []), ...entries]),
      }))
    },
    openIntent: (key, intent) => setIntent(key, () => intent),
    async findIntent(key, messageId) {
      const intent = table.get<IntentDocument>(intentPlace(key))?.intent
      return intent?.messageId === messageId ? intent : undefined
    },
    closeIntent: (key, messageId) =>
      setIntent(key, now => (now?.messageId === messageId ? null : now)),
  }
}

/** A history starts with what somebody said, so that no tool result loses its call. */
function bounded(entries: HistoryEntry[]): HistoryEntry[] {
  let kept = entries
  while (kept.length > ENTRIES_MAX || charactersOf(kept) > CHARACTERS_MAX) {
    const next = kept.findIndex(({ item }, at) => at > 0 && item.role === 'user')
    if (next < 0) return kept
    kept = kept.slice(next)
  }
  return kept
}

function charactersOf(entries: HistoryEntry[]): number {
  return entries.reduce((sum, { item }) => sum + item.text.length, 0)
}
