/** Histories on `agent.sessions`, intents on `agent.operations`, fenced by the lease's token. */
import { LeaseLost } from '../loop/lease-lost.ts'
import type { BatchIntent, HistoryEntry, SessionKey, SessionStore } from '../loop/session-store.ts'
import type { Place, SessionTable } from './session-table.ts'

/** What a session is kept as. */
export interface SessionDocument {
  /** The highest token that wrote. */
  token: number
  entries: HistoryEntry[]
}

/** By message: another message of the session may be worked on before one is tried again. */
interface IntentDocument {
  token: number
  intents: Record<string, BatchIntent>
}

/** Open intents of one session; those of messages that nobody took up again go first. */
const INTENTS_MAX = 100

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
  const setIntent = async (key: SessionKey, messageId: string, intent: BatchIntent | undefined) => {
    await table.update<IntentDocument>(intentPlace(key), current => {
      const { [messageId]: _before, ...others } = current?.intents ?? {}
      const kept = Object.entries(intent ? { ...others, [messageId]: intent } : others)
      return { token: fenced(current), intents: Object.fromEntries(kept.slice(-INTENTS_MAX)) }
    })
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
    openIntent: (key, intent) => setIntent(key, intent.messageId, intent),
    findIntent: async (key, messageId) =>
      table.get<IntentDocument>(intentPlace(key))?.intents?.[messageId],
    closeIntent: (key, messageId) => setIntent(key, messageId, undefined),
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
