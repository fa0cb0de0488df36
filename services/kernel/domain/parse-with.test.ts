/** What people read when their input does not fit. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { AmbitError } from '../errors.ts'
import { parseWith } from './parse-with.ts'
import { scheduleSchema } from './trigger.ts'

function messageOf(schema: z.ZodType, value: unknown): string {
  try {
    parseWith(schema, value)
  } catch (error) {
    assert.ok(error instanceof AmbitError)
    return error.message
  }
  return assert.fail('was taken')
}

describe('what is refused', () => {
  it('is told in words of people, with what came', () => {
    const schema = z.strictObject({
      name: z.string().min(2).max(4),
      count: z.int().max(9),
      mode: z.enum(['a', 'b']),
      at: z.iso.datetime(),
      own: z.string().regex(/^x/, 'a text that begins with x'),
    })
    const good = { name: 'abc', count: 1, mode: 'a', at: '2026-12-01T09:00:00Z', own: 'xy' }
    const said = (over: object) => messageOf(schema, { ...good, ...over })
    assert.equal(said({ name: 'a' }), '/name: a text of 2 characters or more; got "a".')
    assert.equal(said({ name: 'abcde' }), '/name: a text of 4 characters at most; got "abcde".')
    assert.equal(said({ name: 7 }), '/name: a text; got 7.')
    assert.equal(said({ count: 10 }), '/count: 9 at most; got 10.')
    assert.equal(said({ mode: 'c' }), '/mode: "a" or "b"; got "c".')
    assert.equal(said({ at: 'soon' }), '/at: an instant such as 2026-12-01T09:00:00Z; got "soon".')
    assert.equal(said({ own: 'y' }), '/own: a text that begins with x; got "y".')
    assert.match(said({ nmae: 1 }), /^\/nmae: no member of that name; unknown: nmae/)
  })

  it('names the forms of a schedule to someone who writes a cron line', () => {
    const said = messageOf(scheduleSchema, { cron: '0 9 * * *' })
    assert.match(
      said,
      /\{once, tzid\}, \{dtstart, tzid, rrule\} or \{anchor\}.*docs\/schedules\.md/,
    )
  })
})
