import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { judgeItemOf } from './judge-item.ts'
import { validateVerdicts } from './validate-verdicts.ts'

const event = (data: unknown, more: Partial<CloudEvent> = {}): CloudEvent => ({
  ...{ specversion: '1.0', id: 'e1', source: '/shop', type: 'ticket', subject: 'ticket 7' },
  ...more,
  data,
})
const ITEMS = [
  judgeItemOf(event({ text: 'Please refund\n  my ﬁrst order.', total: 12 })),
  judgeItemOf(event({ text: 'All is well.', notes: [{ text: 'Thank you!' }] })),
]
const verdict = (item: number, more: object = {}) => ({
  ...{ item, matched: false, confidence: 0.9, evidence: [], reason: 'none' },
  ...more,
})
const quote = (text: string, pointer = '/text') => ({
  matched: true,
  evidence: [{ quote: text, pointer }],
})
const check = (verdicts: object[], scope: 'each' | 'set' = 'each') =>
  validateVerdicts(JSON.stringify({ verdicts }), ITEMS, scope)
const words = (verdicts: object[]) =>
  check(verdicts).results.map(result => (result.kind === 'valid' ? 'valid' : result.reason))

describe('facts', () => {
  it('a quote occurs after folding of white space and compatibility forms', () => {
    const { results } = check([verdict(1, quote('refund my first order')), verdict(2)])
    assert.deepEqual(results[0], {
      kind: 'valid',
      verdict: {
        ...{ matched: true, confidence: 0.9, reason: 'none' },
        evidence: [{ quote: 'refund my first order', pointer: '/text' }],
      },
    })
    assert.equal(results[1]?.kind, 'valid')
  })
  it('a pointer that does not hold the quote is replaced by one that does', () => {
    const { results } = check([verdict(1), verdict(2, quote('Thank you!', '/nowhere'))])
    const [, second] = results
    assert.equal(second?.kind === 'valid' && second.verdict.evidence[0]?.pointer, '/notes/0/text')
  })
  it('a match without evidence, with an invented, empty or tiny quote is none', () => {
    assert.deepEqual(words([verdict(1, { matched: true }), verdict(2)]), ['no-evidence', 'valid'])
    for (const text of ['', '  ', 'e', '—', 'refund the second order', 'text']) {
      assert.deepEqual(words([verdict(1, quote(text)), verdict(2)]), ['invented-quote', 'valid'])
    }
  })
  it('a short quote holds where it is the whole value', () => {
    assert.deepEqual(words([verdict(1, quote('12', '/total')), verdict(2)]), ['valid', 'valid'])
  })
  it('a quote from another item is invented', () => {
    assert.deepEqual(words([verdict(1, quote('Thank you!')), verdict(2)])[0], 'invented-quote')
  })
  it('a negative verdict with an invented quote is none either', () => {
    const invented = { ...quote('no such words'), matched: false }
    assert.deepEqual(words([verdict(1, invented), verdict(2)]), ['invented-quote', 'valid'])
  })
})

describe('items', () => {
  it('that are answered twice or not at all fail alone', () => {
    assert.deepEqual(words([verdict(1), verdict(1), verdict(2)]), ['answered-twice', 'valid'])
    assert.deepEqual(words([verdict(2)]), ['not-answered', 'valid'])
  })
  it('that do not exist are passed over', () => {
    assert.deepEqual(words([verdict(1), verdict(2), verdict(3), verdict(0)]), ['valid', 'valid'])
  })
})

describe('the schema', () => {
  const answers: [string, string][] = [
    ['no JSON', 'matched'],
    ['two objects', '{"verdicts":[]}{"verdicts":[]}'],
    ['a key twice', '{"verdicts":[],"verdicts":[]}'],
    ['a list', '[]'],
    ['a further field', JSON.stringify({ verdicts: [verdict(1), verdict(2)], tool: 'x' })],
    ['a further field of a verdict', JSON.stringify({ verdicts: [verdict(1, { route: 'x' })] })],
    ['a word for a boolean', JSON.stringify({ verdicts: [verdict(1, { matched: 'true' })] })],
    ['a confidence above 1', JSON.stringify({ verdicts: [verdict(1, { confidence: 90 })] })],
    ['no reason', JSON.stringify({ verdicts: [verdict(1, { reason: undefined })] })],
    ['code fences', '```json\n{"verdicts":[]}\n```'],
  ]
  for (const [what, text] of answers) {
    it(`is not met by ${what}: nothing of the answer is used`, () => {
      const { fits, results } = validateVerdicts(text, ITEMS, 'each')
      assert.equal(fits, false)
      assert.deepEqual(
        results.map(r => r.kind === 'invalid' && r.reason),
        ['malformed', 'malformed'],
      )
    })
  }
  it('lets a reason be long, and cuts it', () => {
    const { results } = check([verdict(1, { reason: 'x'.repeat(9000) }), verdict(2)])
    assert.equal(results[0]?.kind === 'valid' && results[0].verdict.reason.length, 500)
  })
})

describe('a set', () => {
  it('has one verdict, with item 0, and pointers that name the item', () => {
    const { results } = check([verdict(0, quote('Thank you!', '/2/notes/0/text'))], 'set')
    assert.equal(results.length, 1)
    const [one] = results
    assert.equal(one?.kind === 'valid' && one.verdict.evidence[0]?.pointer, '/2/notes/0/text')
    assert.deepEqual(check([verdict(1), verdict(2)], 'set').results, [
      { kind: 'invalid', reason: 'not-answered' },
    ])
  })
})

describe('an item', () => {
  it('is the same whatever its id, its time and the order of its keys', () => {
    const one = judgeItemOf(event({ a: 1, b: 2 }, { id: 'x', time: '2026-11-30T10:00:00Z' }))
    assert.equal(one.digest, judgeItemOf(event({ b: 2, a: 1 }, { id: 'y' })).digest)
    assert.notEqual(one.digest, judgeItemOf(event({ a: 1, b: '3' })).digest)
  })
  it('is cut where it is too long, and says so', () => {
    const long = judgeItemOf(event({ text: 'word '.repeat(10_000) }))
    assert.ok(long.isCut && long.text.length < 17_000)
    assert.match(long.text, /left out/)
  })
})
