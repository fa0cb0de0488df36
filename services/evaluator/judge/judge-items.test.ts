import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallOutcome, judgeItems } from './judge-items.ts'
import type { ItemResult } from './validate-verdicts.ts'

const valid: ItemResult = {
  kind: 'valid',
  verdict: { matched: false, confidence: 1, evidence: [], reason: '' },
}
const invalid: ItemResult = { kind: 'invalid', reason: 'invented-quote' }
const outage = { kind: 'failed', reason: 'server-error', mayRetry: true } as const

type Answer = (places: readonly number[], nth: number, model: string) => CallOutcome<string>

/** Runs a course with scripted calls; answers fates, what was asked, and the pauses. */
async function run(count: number, answer: Answer, more: { models?: string[]; set?: true } = {}) {
  const asked: string[] = []
  const pauses: number[] = []
  const fates = await judgeItems({
    count,
    scope: more.set ? 'set' : 'each',
    models: more.models ?? ['m'],
    attemptsMax: 3,
    call: async (model, places) => {
      asked.push(`${model}:${places.join()}`)
      return answer(places, asked.length, model)
    },
    pause: async ms => void pauses.push(ms),
  })
  const words = fates.map(fate => (fate.kind === 'failed' ? fate.reason : fate.kind))
  return { words, asked, pauses }
}

const answered = (results: ItemResult[]): CallOutcome<string> => ({ kind: 'answered', results })

test('one item that fails is asked again alone, and spoils no other', async () => {
  const { words, asked } = await run(3, places =>
    answered(places.map(at => (at === 1 ? invalid : valid))),
  )
  assert.deepEqual(words, ['valid', 'invented-quote', 'valid'])
  assert.deepEqual(asked, ['m:0,1,2', 'm:1', 'm:1'])
})

test('an answer that fits no schema is asked again item by item', async () => {
  const { words, asked } = await run(2, (places, nth) =>
    answered(places.map(() => (nth === 1 ? { kind: 'invalid', reason: 'malformed' } : valid))),
  )
  assert.deepEqual(words, ['valid', 'valid'])
  assert.deepEqual(asked, ['m:0,1', 'm:0', 'm:1'])
})

test('an outage is retried together with growing pauses, and ends', async () => {
  const { words, asked, pauses } = await run(2, () => outage)
  assert.deepEqual(words, ['server-error', 'server-error'])
  assert.deepEqual(asked, ['m:0,1', 'm:0,1', 'm:0,1'])
  assert.deepEqual(pauses, [500, 1000])
})

test('a server that asks to wait is waited for', async () => {
  const { pauses } = await run(1, (_places, nth) =>
    nth === 1 ? { ...outage, retryAfterMs: 7000 } : answered([valid]),
  )
  assert.deepEqual(pauses, [7000])
})

test('what one item may have brought about is asked again item by item', async () => {
  for (const reason of ['timeout', 'empty', 'refused', 'request-refused'] as const) {
    const { words, asked } = await run(2, places =>
      places.includes(0)
        ? { kind: 'failed', reason, mayRetry: reason !== 'request-refused' }
        : answered([valid]),
    )
    assert.deepEqual(words, [reason, 'valid'])
    assert.equal(asked.at(-1), 'm:1')
  }
})

test('a cut-off answer about several items is asked again item by item', async () => {
  const { asked } = await run(2, places =>
    places.length > 1 ? { kind: 'failed', reason: 'cut-off', mayRetry: true } : answered([valid]),
  )
  assert.deepEqual(asked, ['m:0,1', 'm:0', 'm:1'])
})

test('the fallback is asked about what the first model left, and about nothing else', async () => {
  const { words, asked } = await run(
    2,
    (places, _nth, model) =>
      model === 'a' ? answered(places.map(at => (at === 0 ? valid : invalid))) : answered([valid]),
    { models: ['a', 'b'] },
  )
  assert.deepEqual(words, ['valid', 'valid'])
  assert.deepEqual(asked, ['a:0,1', 'a:1', 'a:1', 'b:1'])
})

test('an open breaker, or a refused request, leads to the next model at once', async () => {
  const { words, asked } = await run(
    1,
    (_places, _nth, model) =>
      model === 'a' ? { kind: 'unavailable' } : { ...outage, mayRetry: false },
    { models: ['a', 'b'] },
  )
  assert.deepEqual(words, ['server-error'])
  assert.deepEqual(asked, ['a:0', 'b:0'])
})

test('a batch is cut to its budget; an item without room is over budget alone', async () => {
  const { words, asked } = await run(4, places => {
    if (places.length > 2) return { kind: 'no-room', count: 2, limit: 'tokens' }
    if (places[0] === 2) return { kind: 'no-room', count: 0, limit: 'tokens' }
    return answered(places.map(() => valid))
  })
  assert.deepEqual(words, ['valid', 'valid', 'over-budget', 'valid'])
  assert.deepEqual(asked, ['m:0,1,2,3', 'm:0,1', 'm:2,3', 'm:3'])
})

test('a set has one verdict and is never taken apart', async () => {
  const { words, asked } = await run(3, (_places, nth) => answered([nth === 1 ? invalid : valid]), {
    set: true,
  })
  assert.deepEqual(words, ['valid', 'valid', 'valid'])
  assert.deepEqual(asked, ['m:0,1,2', 'm:0,1,2'])
})
