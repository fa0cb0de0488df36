/** What the agents' topics say: every version of a history that counted, and the operations. */
import type { HistoryEntry } from '#services/agent/loop/session-store.ts'
import type { Operation } from '#services/agent/operations/operation.ts'
import type { SessionDocument } from '#services/agent/storage/log-session-store.ts'
import type { World } from '../world.ts'

export interface SessionVersion {
  key: string
  session: string
  order: number
  document: SessionDocument
}

export interface Sessions {
  /** Versions that everybody reads: of two writers of one version the first won. */
  versions: SessionVersion[]
  /** The newest entries, by session. */
  histories: Map<string, HistoryEntry[]>
  operations: Map<string, Operation>
  /** Messages whose intent is still open. */
  openIntents: Set<string>
}

export function readSessions({ history }: World): Sessions {
  const versions: SessionVersion[] = []
  const histories = new Map<string, HistoryEntry[]>()
  const operations = new Map<string, Operation>()
  const intents = new Map<string, string[]>()
  const newest = new Map<string, number>()
  for (const topic of ['agent.sessions', 'agent.operations'] as const) {
    for (const { value, order, record } of history.values(topic, 'table-document')) {
      const key = Buffer.from(record.key ?? []).toString()
      if ((newest.get(key) ?? 0) >= value.version) continue
      newest.set(key, value.version)
      const doc = (value.doc as { value: unknown }).value
      const session = decodeURIComponent(key.split('/')[2] ?? '')
      if (value.kind === 'session') {
        const document = doc as SessionDocument
        versions.push({ key, session, order, document })
        histories.set(session, document.entries)
      } else if (value.kind === 'operation') {
        operations.set(value.id + key, doc as Operation)
      } else {
        intents.set(key, Object.keys((doc as { intents: object }).intents))
      }
    }
  }
  return { versions, histories, operations, openIntents: new Set([...intents.values()].flat()) }
}
