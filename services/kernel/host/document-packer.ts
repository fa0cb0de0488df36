/**
 * Keeps encoded documents small once there are many. Documents of a table are alike, so the first
 * one serves as a dictionary for the others: a tenth of the bytes for some tens of microseconds,
 * paid only in tables where memory would be the limit.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** Documents of a table that are kept as they are. */
const PLAIN_MAX = 10_000

/**
 * A kept document: its bytes, or them deflated, one character a byte. A string lies in the heap,
 * which the collector compacts; a hundred thousand small buffers lie between whatever else was
 * allocated then, and kept 130 MiB of freed memory from the system.
 */
export interface Packed {
  text: string
  isDeflated: boolean
}

export interface DocumentPacker {
  /** `held` is the number of documents that the table holds already. */
  pack(bytes: Uint8Array, held: number): Packed
  unpack(packed: Packed): Uint8Array
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

export function createDocumentPacker(): DocumentPacker {
  let dictionary: Buffer | undefined
  return {
    pack(bytes, held) {
      if (held < PLAIN_MAX) return { text: textOf(bytes), isDeflated: false }
      dictionary ??= Buffer.from(bytes)
      const deflated = deflateRawSync(bytes, { dictionary, level: 1, memLevel: 5 })
      return { text: textOf(deflated), isDeflated: true }
    },
    unpack({ text, isDeflated }) {
      const bytes = Buffer.from(text, 'latin1')
      return isDeflated ? inflateRawSync(bytes, { dictionary }) : bytes
    },
  }
}
