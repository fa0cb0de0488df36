/** How a record lies in a row: the headers packed into one blob, everything else as it came. */
import { AmbitError } from '#kernel/errors.ts'
import type { LogRecord, OutgoingRecord } from '#kernel/ports/event-log.ts'

/** A record ready to be stored: what SQLite binds, and what readers will be given. */
export interface PackedRecord {
  key: Uint8Array
  value: Uint8Array | null
  /** Pairs of (name, value), each behind its length in bytes as an unsigned 32-bit number. */
  headers: Uint8Array | null
  read: LogRecord['headers']
  /** Bytes of key, value and headers together. */
  size: number
}

const LENGTH_BYTES = 4
const decoder = new TextDecoder()

/**
 * Copies a record, so that its owner may reuse the buffer. Throws `log-unavailable` for what no
 * log can hold; that is a fault of the caller and must not reach a transaction.
 */
export function packRecord(record: OutgoingRecord): PackedRecord {
  const { key, value } = record
  if (typeof key !== 'string' || (value !== null && !(value instanceof Uint8Array))) {
    throw new AmbitError(
      'log-unavailable',
      `Expected a text key and a value of bytes or null for ${record.topic}, ` +
        `got ${typeof key} and ${typeof value}. Encode the record first.`,
    )
  }
  const texts = headerTexts(record.headers)
  const lengths = texts.map(text => Buffer.byteLength(text))
  const headersSize = lengths.reduce((sum, length) => sum + LENGTH_BYTES + length, 0)
  const keySize = Buffer.byteLength(key)
  const size = keySize + headersSize + (value?.length ?? 0)
  // One allocation of its own per record: the cache must not keep a shared slab alive.
  const bytes = Buffer.allocUnsafeSlow(size)
  bytes.write(key, 0)
  let at = keySize
  const read: [string, Uint8Array][] = []
  for (const [index, text] of texts.entries()) {
    const length = lengths[index] ?? 0
    at = bytes.writeUInt32LE(length, at)
    if (length > 0) bytes.write(text, at)
    const name = texts[index - 1]
    if (index % 2 === 1 && name !== undefined) read.push([name, view(bytes, at, length)])
    at += length
  }
  if (value) bytes.set(value, at)
  return {
    key: view(bytes, 0, keySize),
    value: value && view(bytes, at, value.length),
    headers: texts.length === 0 ? null : view(bytes, keySize, headersSize),
    read: Object.fromEntries(read),
    size,
  }
}

/** Names and values in turn; a header without a value is left out. */
function headerTexts(headers: Record<string, string> = {}): string[] {
  const texts: string[] = []
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') texts.push(name, value)
  }
  return texts
}

function view(bytes: Uint8Array, at: number, length: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + at, length)
}

/** Reads what `packRecord` packed into `headers`. */
export function unpackHeaders(packed: Uint8Array | null): LogRecord['headers'] {
  if (packed === null) return {}
  const lengths = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  const parts: Uint8Array[] = []
  for (let at = 0; at < packed.length; ) {
    const length = lengths.getUint32(at, true)
    parts.push(view(packed, at + LENGTH_BYTES, length))
    at += LENGTH_BYTES + length
  }
  const pairs: [string, Uint8Array][] = []
  for (let at = 0; at + 1 < parts.length; at += 2) {
    pairs.push([decoder.decode(parts[at]), parts[at + 1] ?? new Uint8Array()])
  }
  return Object.fromEntries(pairs)
}
