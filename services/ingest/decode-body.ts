import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib'
import { AmbitError } from '#kernel/errors.ts'

/** Largest body in bytes, counted after decoding. */
export const BODY_BYTES_MAX = 1024 * 1024

type Decoder = (body: Buffer, options: ZlibOptions) => Promise<Buffer>

const DECODERS = new Map<string, Decoder>([
  ['gzip', promisify<Buffer, ZlibOptions, Buffer>(gunzip)],
  ['x-gzip', promisify<Buffer, ZlibOptions, Buffer>(gunzip)],
  ['deflate', promisify<Buffer, ZlibOptions, Buffer>(inflate)],
  ['br', promisify<Buffer, ZlibOptions, Buffer>(brotliDecompress)],
])

/**
 * Undoes one `content-encoding` (RFC 9110 section 8.4). The decoder stops at `bytesMax`, so a
 * small body cannot grow into a large one.
 *
 * @throws AmbitError `too-large`, `bad-request` for bytes that are not so encoded, or
 * `unsupported-media-type` for an encoding that is not read, several at once included.
 */
export async function decodeBody(
  body: Buffer,
  contentEncoding: string | undefined,
  bytesMax: number = BODY_BYTES_MAX,
): Promise<Buffer> {
  if (body.length > bytesMax) throw tooLarge(bytesMax)
  const coding = (contentEncoding ?? '').trim().toLowerCase()
  if (coding === '' || coding === 'identity') return body
  const decode = DECODERS.get(coding)
  if (!decode) {
    throw new AmbitError(
      'unsupported-media-type',
      'Expected content-encoding gzip, deflate, br or identity, got another. Send one of them.',
      { expected: 'gzip, deflate, br or identity', actual: 'another content-encoding' },
    )
  }
  try {
    return await decode(body, { maxOutputLength: bytesMax })
  } catch (cause) {
    if (isCode(cause, 'ERR_BUFFER_TOO_LARGE')) throw tooLarge(bytesMax)
    throw new AmbitError(
      'bad-request',
      `Expected a body encoded as ${coding}, got other bytes. Encode it or drop the header.`,
      { expected: coding, actual: 'other bytes', cause },
    )
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

function tooLarge(bytesMax: number): AmbitError {
  return new AmbitError(
    'too-large',
    `Expected a body of at most ${bytesMax} bytes after decoding, got more. Send less at once.`,
    { expected: `<= ${bytesMax} bytes`, actual: 'more' },
  )
}
