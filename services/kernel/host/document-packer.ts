/**
 * Keeps encoded documents small once there are many. Documents of a table are alike, so the first
 * one serves as a dictionary for the others: a tenth of the bytes for some tens of microseconds,
 * paid only in tables where memory would be the limit.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** Documents of a table that are kept as they are. */
const PLAIN_MAX = 10_000

/** A kept document: its bytes, or them deflated. */
export interface Packed {
  bytes: Uint8Array
  isDeflated: boolean
}

export interface DocumentPacker {
  /** `held` is the number of documents that the table holds already. */
  pack(bytes: Uint8Array, held: number): Packed
  unpack(packed: Packed): Uint8Array
}

export function createDocumentPacker(): DocumentPacker {
  let dictionary: Buffer | undefined
  return {
    pack(bytes, held) {
      // A copy with memory of its own: records are slices of a whole answer, and buffers slices of
      // a shared pool, which would stay as long as they do.
      if (held < PLAIN_MAX) return { bytes: Uint8Array.from(bytes), isDeflated: false }
      dictionary ??= Buffer.from(bytes)
      const deflated = deflateRawSync(bytes, { dictionary, level: 1, memLevel: 5 })
      return { bytes: Uint8Array.from(deflated), isDeflated: true }
    },
    unpack({ bytes, isDeflated }) {
      return isDeflated ? inflateRawSync(bytes, { dictionary }) : bytes
    },
  }
}
