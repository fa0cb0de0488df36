/** Records that cannot be read go to `deadletter` with the reason: never a stuck partition. */
import { hashId } from '#kernel/domain/ids.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'

/**
 * The dead letter of one record. Its id is the record's position, so that reading it twice makes
 * one entry. The tenant is the topic's or the header's; `undefined` belongs to the operator.
 */
export function deadLetterOutput(
  { record, error, tenant }: { record: LogRecord; error: unknown; tenant?: string },
  clock: Pick<Clock, 'now'>,
): Output {
  const { topic, partition, offset, key, value, headers } = record
  const claimed = headers.ce_tenant && Buffer.from(headers.ce_tenant).toString()
  const owner = tenant ?? claimed ?? ''
  const id = hashId('d', topic, partition, offset)
  return {
    topic: 'deadletter',
    key: key ? Buffer.from(key).toString() : id,
    id,
    tenant: owner,
    value: {
      id,
      tenant: owner === '' ? null : owner,
      topic,
      partition,
      offset,
      key,
      value,
      headers,
      code: isAmbitError(error) ? error.code : 'unreadable',
      reason: error instanceof Error ? error.message : 'The record could not be read.',
      at: clock.now(),
    },
  }
}
