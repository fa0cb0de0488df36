import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeUtf8, parseStrictJson, stringifyLossless } from '#kernel/domain/lossless-json.ts'
import { isAmbitError } from '#kernel/errors.ts'
import { type BodyCase, bodyOf, readCases } from '#test/support/cases.ts'
import { decodeBody } from './decode-body.ts'

interface Line extends BodyCase {
  id: string
  why: string
  headers: Record<string, string>
  expect: '4xx' | 'exact' | '4xx-or-exact'
  statuses?: number[]
}

/** The number literals of a text and its value with numbers left out: the two ways to lose. */
function reading(text: string): { numbers: string[]; shape: unknown } {
  const numbers: string[] = []
  const shape = JSON.parse(text, (_key, value, context?: { source?: string }) => {
    if (typeof value !== 'number') return value
    numbers.push(context?.source ?? '')
    return '#'
  })
  return { numbers, shape }
}

/** The answer of the door: the text that would be stored, or the status of the refusal. */
async function answer(line: Line, body: Buffer): Promise<string | number> {
  try {
    const text = decodeUtf8(await decodeBody(body, line.headers['content-encoding']))
    return stringifyLossless(parseStrictJson(text))
  } catch (error) {
    assert.ok(isAmbitError(error), `not an operating error: ${error}`)
    return error.status
  }
}

describe('every hostile body has its right answer', () => {
  const prototypeKeys = Reflect.ownKeys(Object.prototype)

  for (const line of readCases<Line>('hostile-json.jsonl')) {
    test(`${line.id} ${line.why}`, async () => {
      const body = bodyOf(line)
      const began = performance.now()
      const result = await answer(line, body)
      assert.ok(performance.now() - began < 2000)
      if (typeof result === 'number') {
        assert.notEqual(line.expect, 'exact')
        assert.ok(line.statuses?.includes(result) ?? (result >= 400 && result < 500))
      } else {
        assert.notEqual(line.expect, '4xx')
        assert.deepEqual(reading(result), reading(body.toString()))
      }
      assert.equal(Reflect.get({}, 'polluted'), undefined)
      assert.deepEqual(Reflect.ownKeys(Object.prototype), prototypeKeys)
    })
  }
})
