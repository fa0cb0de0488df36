/**
 * Two subscriptions of one criterion are told the same text at the same moment. The model holds its
 * first answer back until the test says so; without sharing, both would have called by then.
 */
import assert from 'node:assert/strict'
import { afterEach, it } from 'node:test'
import { createJudgeBench, honest, type ModelAnswer } from '#test/support/judge-bench.ts'

type Bench = ReturnType<typeof createJudgeBench>
let bench: Bench
afterEach(() => bench.stop())

/** A second in which everything that is under way gets as far as it can. */
const settleDown = () => bench.clock.advance(1000)
const hasJudged = (count: number) =>
  bench.clock.until(() => bench.judged().length >= count, 120_000)
const tokensOf = (id: string) => bench.counter('subscription', id, 'tokens')

/** Fates by subscription, with what was cached and what was paid. */
function fates() {
  const paid = Map.groupBy(bench.rows('usage', 'usage'), ({ subscription }) => subscription)
  const rows = bench.judged().map(({ subscription, verdict, skipped }) => {
    const calls = paid.get(subscription)?.length ?? 0
    const fate = verdict?.outcome ?? skipped?.fate
    return [subscription, { fate, cached: verdict?.cached ?? false, calls }] as const
  })
  return Object.fromEntries(rows)
}

/** Lets the first call wait for `answer`. */
function heldFirst(answer: ModelAnswer): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  bench.model.answer = async (request, nth) => {
    if (nth > 1) return honest(request, nth)
    await promise
    return answer(request, nth)
  }
  return resolve
}

async function tellBoth(text = 'yes'): Promise<void> {
  await bench.send('s1', text)
  await settleDown()
  await bench.send('s2', text)
  await settleDown()
}

it('one call answers both, one pays, and who waits holds no money', async () => {
  bench = createJudgeBench()
  for (const id of ['s1', 's2']) bench.subscribe(id)
  const answerFirst = heldFirst(honest)
  await bench.start('one')
  await tellBoth()
  assert.equal(bench.model.calls.length, 1)
  assert.deepEqual([(await tokensOf('s1')) > 0, await tokensOf('s2')], [true, 0])
  answerFirst()
  await hasJudged(2)
  assert.equal(bench.model.calls.length, 1)
  assert.deepEqual(fates(), {
    s1: { fate: 'matched', cached: false, calls: 1 },
    s2: { fate: 'matched', cached: true, calls: 0 },
  })
  assert.deepEqual([await tokensOf('s1'), await tokensOf('s2')], [240, 0])
})

it('only the texts in common are waited for', async () => {
  bench = createJudgeBench()
  for (const id of ['s1', 's2']) bench.subscribe(id)
  const answerFirst = heldFirst(honest)
  await bench.start('one')
  await bench.send('s1', 'yes')
  await settleDown()
  await bench.send('s2', 'yes', 'no')
  await settleDown()
  assert.equal(bench.model.calls.length, 2)
  assert.doesNotMatch(bench.model.calls[1]?.input ?? '', /yes/)
  answerFirst()
  await hasJudged(3)
  assert.equal(bench.model.calls.length, 2)
})

it('another criterion is another call', async () => {
  bench = createJudgeBench()
  bench.subscribe('s1')
  bench.subscribe('s2', { condition: { criterion: 'it says yes loudly' } })
  const answerFirst = heldFirst(honest)
  await bench.start('one')
  await tellBoth()
  assert.equal(bench.model.calls.length, 2)
  answerFirst()
  await hasJudged(2)
})

it('where the first one fails the second asks for itself, and pays', async () => {
  bench = createJudgeBench({ settings: { attemptsMax: 1 } })
  for (const id of ['s1', 's2']) bench.subscribe(id)
  const usage = { inputTokens: 10, outputTokens: 0 }
  const failFirst = heldFirst(() => ({
    ...{ kind: 'failed', reason: 'refused', isOutage: false, mayRetry: false, usage },
  }))
  await bench.start('one')
  await tellBoth()
  failFirst()
  await hasJudged(2)
  assert.deepEqual(fates(), {
    s1: { fate: 'failed', cached: false, calls: 1 },
    s2: { fate: 'matched', cached: false, calls: 1 },
  })
  assert.equal(await tokensOf('s2'), 240)
})

it('where the first one had no budget the second asks', async () => {
  bench = createJudgeBench()
  bench.subscribe('s1', { limits: { budget: { tokensPerDay: 10 } } })
  bench.subscribe('s2')
  await bench.start('one')
  await Promise.all([bench.send('s1', 'yes'), bench.send('s2', 'yes')])
  await hasJudged(2)
  assert.deepEqual(fates(), {
    s1: { fate: 'over-budget', cached: false, calls: 0 },
    s2: { fate: 'matched', cached: false, calls: 1 },
  })
})

it('a set is shared as a whole, each with its own evidence', async () => {
  bench = createJudgeBench()
  for (const id of ['s1', 's2']) bench.subscribe(id, { condition: { scope: 'set' } })
  const { promise, resolve } = Promise.withResolvers<void>()
  bench.model.answer = async () => {
    await promise
    const evidence = [{ quote: 'half', pointer: '/1/text' }]
    const verdict = { item: 0, matched: true, confidence: 0.9, reason: 'together', evidence }
    const text = JSON.stringify({ verdicts: [verdict] })
    return { kind: 'answer', text, usage: { inputTokens: 100, outputTokens: 20 } }
  }
  await bench.start('one')
  await bench.send('s1', 'one half', 'other')
  await bench.send('s2', 'one half', 'other')
  await settleDown()
  resolve()
  await hasJudged(4)
  assert.equal(bench.model.calls.length, 1)
  const quoted = bench.judged().map(({ subscription, verdict }) => {
    const body = verdict?.body as { evidence: unknown[] } | undefined
    return `${subscription}: ${verdict?.outcome} ${body?.evidence.length}`
  })
  const each = (id: string) => [`${id}: matched 1`, `${id}: matched 0`]
  assert.deepEqual(quoted.toSorted(), [...each('s1'), ...each('s2')].toSorted())
})

it('a process that stops while one waits leaves both to the next', async () => {
  bench = createJudgeBench()
  for (const id of ['s1', 's2']) bench.subscribe(id)
  bench.model.answer = () => new Promise(() => {})
  const first = await bench.start('one')
  await tellBoth()
  first.crash()
  bench.model.answer = honest
  await bench.start('two')
  await hasJudged(2)
  assert.equal(bench.model.calls.length, 2)
  await bench.clock.advance(120_000)
  assert.deepEqual((await tokensOf('s1')) + (await tokensOf('s2')), 240)
})
