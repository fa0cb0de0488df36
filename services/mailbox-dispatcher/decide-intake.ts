import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { Message } from '#schemas/generated/records.ts'
import {
  type MessageDocument,
  messageKey,
  newMessageDocument,
  queueIdOf,
  queueOf,
  readyKey,
} from './message-document.ts'
import { recordMove } from './message-lifecycle.ts'

/**
 * Takes an appended message into its mailbox. A second record with the same id changes nothing,
 * settled or not (I2).
 */
export function decideIntake(
  unit: UnitOfWork,
  { message, partition, offset }: { message: Message; partition: number; offset: number },
): void {
  openPartition(unit, partition)
  if (unit.get<MessageDocument>(messageKey(message.id))) return
  const doc = newMessageDocument(message, { order: offset, availableAt: unit.now })
  unit.due(queueOf(doc.agent), queueIdOf(doc), doc.availableAt)
  recordMove(unit, null, doc)
}

/** The first message of a tenant opens the partition: before it there was nothing to lose. */
function openPartition(unit: UnitOfWork, partition: number): void {
  const key = readyKey(partition)
  if (unit.get(key) === undefined) unit.put(key, { since: unit.now }, { version: unit.now })
}
