/** One record into its rows; the one place that says which record feeds which tables. */
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import type { TableDocument } from '#schemas/generated/records.ts'
import { extTenant, INGRESS_TOPICS } from '#topologies/topics.ts'
import type { Erasures } from './erasures.ts'
import type { LiveChange } from './live-change.ts'
import type { ReadRecord } from './read-record.ts'
import { writeCandidate, writeDecision, writeEvent } from './write-candidates.ts'
import {
  documentFacts,
  EVENT_ERASURE_KIND,
  NOTICE_ACK_KIND,
  writeAcknowledgement,
  writeAudit,
  writeDeadLetter,
  writeNotice,
  writeUsage,
} from './write-journal.ts'
import { writeMessage, writeTransition } from './write-mailbox.ts'

export interface WriteTarget {
  database: ProjectionDatabase
  erasures: Erasures
  /** Records appended before it are before the window, ms since the epoch. */
  recentMs: number
}

const WINDOWED = new Set<string>([...INGRESS_TOPICS, 'evaluations', 'candidates'])

/** Is the record too old to leave a row? Asked before it is decoded. */
export function isBeforeWindow({ topic, timestamp }: LogRecord, recentMs: number): boolean {
  return timestamp < recentMs && (WINDOWED.has(topic) || extTenant(topic) !== undefined)
}

/** Writes what a record says; answers what people who watch may want to know. */
export function writeRecord(target: WriteTarget, read: ReadRecord): LiveChange | undefined {
  const { database, erasures, recentMs } = target
  const { record } = read
  switch (read.name) {
    case 'event':
      return void writeEvent(database, record, read.value)
    case 'candidate': {
      const candidate = read.value
      const { source, id } = candidate.event?.attributes ?? {}
      const isErased = erasures.has(candidate.tenant, String(source), String(id))
      return writeCandidate(database, record, { candidate, isErased })
    }
    case 'decision': {
      const isOld = read.value.at < recentMs
      return writeDecision(database, { decision: read.value, isOld })
    }
    case 'message':
      return writeMessage(database, record, read.value)
    case 'mailbox-transition':
      return writeTransition(database, read.value)
    case 'notice':
      return writeNotice(database, read.value)
    case 'dead-letter':
      return void writeDeadLetter(database, record, read.value)
    case 'audit-entry':
      return void writeAudit(database, read.value)
    case 'usage':
      return void writeUsage(database, read.value)
    case 'table-document':
      return void writeDocument(target, read.value)
  }
}

/** Acknowledgements and erasures travel on a table topic, so that a rebuilt model has them. */
function writeDocument({ database, erasures }: WriteTarget, document: TableDocument): void {
  const { kind, tenant, id, updatedAt } = document
  const { by, source, eventId } = documentFacts(document)
  const who = typeof by === 'string' ? by : ''
  if (kind === NOTICE_ACK_KIND) {
    writeAcknowledgement(database, { tenant, id, at: updatedAt, by: who })
  }
  if (kind !== EVENT_ERASURE_KIND) return
  if (typeof source !== 'string' || typeof eventId !== 'string') return
  erasures.add(tenant, { source, id: eventId }, { at: updatedAt, by: who })
}
