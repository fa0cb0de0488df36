import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseStrictJson, stringifyLossless } from '#kernel/domain/lossless-json.ts'
import { isAmbitError } from '#kernel/errors.ts'
import { type BodyCase, bodyOf, readCases } from '#test/support/cases.ts'
import { parseHttpEvents } from './cloud-events-http.ts'

interface Line extends BodyCase {
  headers: Record<string, string | string[]>
}

const PIECES = [
  ...['{', '}', '[', ']', '"', ':', ',', '\\', '%', '\u0000', '\xff', '1e400', 'null'],
  ...['\\ud800', '12345678901234567890', '"id":"x",', '"__proto__":{},', '\ufeff'],
]

/** Small numbers from a seed (a linear congruential generator), so that a failure repeats. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0
    return (state >>> 8) % below
  }
}

/** A text with a few pieces put in or cut out. */
function mutate(text: string, pick: (below: number) => number): string {
  let mutated = text
  for (let left = pick(4); left >= 0; left -= 1) {
    const at = pick(mutated.length + 1)
    const [piece, cut] = pick(2) === 0 ? ['', pick(5)] : [PIECES[pick(PIECES.length)], 0]
    mutated = mutated.slice(0, at) + piece + mutated.slice(at + cut)
  }
  return mutated
}

test('10,000 mutated requests are taken or get a 4xx, and what is taken is writable', () => {
  const lines = readCases<Line>('cloudevents.jsonl').filter(line => !line.body_gen)
  const pick = numbers(20_261_001)
  let taken = 0
  for (let round = 0; round < 10_000; round += 1) {
    const line = lines[pick(lines.length)]!
    const body = Buffer.from(mutate(bodyOf(line).toString('latin1'), pick), 'latin1')
    try {
      const events = parseHttpEvents({ headers: line.headers, body })
      assert.deepEqual(parseStrictJson(stringifyLossless(events)), events)
      taken += 1
    } catch (error) {
      const where = `round ${round}: ${error}`
      assert.ok(isAmbitError(error) && error.status >= 400 && error.status < 500, where)
    }
  }
  assert.ok(taken > 500, `only ${taken} were taken, so little was tested`)
})
