/** Encoded outputs as text, so that a drain appends byte for byte what was committed. */
import type { OutgoingRecord } from '#kernel/ports/event-log.ts'

interface Entry extends Omit<OutgoingRecord, 'value'> {
  value: string | null
}

export function encodeOutbox(records: OutgoingRecord[]): string {
  const entries = records.map(({ value, ...rest }) => ({
    ...rest,
    value: value === null ? null : Buffer.from(value).toString('base64'),
  }))
  return JSON.stringify(entries)
}

/** Reads what `encodeOutbox` wrote. */
export function decodeOutbox(body: string): OutgoingRecord[] {
  return (JSON.parse(body) as Entry[]).map(({ value, ...rest }) => ({
    ...rest,
    value: value === null ? null : Buffer.from(value, 'base64'),
  }))
}
