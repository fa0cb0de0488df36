import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

/** How a body too large to write down is made; see `test/cases/README.md`. */
type BodyGen =
  | { gen: 'nest'; open: string; inner: string; close: string; depth: number }
  | { gen: 'wrap' | 'gzip-wrap'; prefix: string; fill: string; fill_bytes: number; suffix: string }
  | { gen: 'keys'; count: number }
  | { gen: 'ce-structured-pad'; total_bytes: number }

/** The body of a case line in one of its three forms. */
export interface BodyCase {
  body?: string
  body_base64?: string
  body_gen?: BodyGen
}

const folders = ['../../../shared/cases/', '../cases/'].map(path =>
  fileURLToPath(new URL(path, import.meta.url)),
)

/** Lines of one case file: the shared copy where it is there, the project's own otherwise. */
export function readCases<Line>(file: string): Line[] {
  const folder = folders.find(each => existsSync(each + file))
  if (!folder) throw new Error(`no case file ${file} in ${folders.join(' or ')}`)
  return readFileSync(folder + file, 'utf8')
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => JSON.parse(line) as Line)
}

/** The bytes that the case sends. */
export function bodyOf(line: BodyCase): Buffer {
  if (line.body_gen) return generate(line.body_gen)
  if (line.body_base64 !== undefined) return Buffer.from(line.body_base64, 'base64')
  return Buffer.from(line.body ?? '')
}

function generate(gen: BodyGen): Buffer {
  switch (gen.gen) {
    case 'nest':
      return Buffer.from(gen.open.repeat(gen.depth) + gen.inner + gen.close.repeat(gen.depth))
    case 'wrap':
      return wrap(gen)
    case 'gzip-wrap':
      return gzipSync(wrap(gen), { level: 9 })
    case 'keys':
      return Buffer.from(`{${Array.from({ length: gen.count }, (_, i) => `"k${i}":0`).join(',')}}`)
    case 'ce-structured-pad':
      return paddedEvent(gen.total_bytes)
  }
}

function wrap(gen: { prefix: string; fill: string; fill_bytes: number; suffix: string }): Buffer {
  const fill = Buffer.alloc(gen.fill_bytes, gen.fill)
  return Buffer.concat([Buffer.from(gen.prefix), fill, Buffer.from(gen.suffix)])
}

function paddedEvent(totalBytes: number): Buffer {
  const event = { specversion: '1.0', type: 'com.example.pad', source: '/pad', id: 'pad-1' }
  const write = (pad: string) => JSON.stringify({ ...event, data: { pad } })
  return Buffer.from(write('x'.repeat(totalBytes - write('').length)))
}
