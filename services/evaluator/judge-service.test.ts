import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { guardKey } from '#kernel/domain/guard-keys.ts'
import type { JudgeIdentity } from '#kernel/domain/judge-identity.ts'
import type { StructuredResult } from '#kernel/ports/model.ts'
import { createRecordCodec } from '#schemas/codec.ts'
import { createJudgeBench, honest, TENANT } from '#test/support/judge-bench.ts'
import { failing } from '#test/support/step-bench.ts'
import { type JudgeState, judgeKey } from './judge/judge-memory.ts'

type Bench = ReturnType<typeof createJudgeBench>
let world: Bench | undefined
const open = (...options: Parameters<typeof createJudgeBench>): Bench => {
  world = createJudgeBench(...options)
  return world
}
afterEach(async () => {
  await world?.stop()
  world = undefined
})

const outcomes = ({ judged }: Bench) =>
  judged().map(({ verdict, skipped }) => verdict?.outcome ?? skipped?.fate ?? 'plain')
const hasJudged = (bench: Bench, count: number) =>
  bench.clock.until(() => bench.judged().length >= count, 120_000)
const outage: StructuredResult = {
  ...{ kind: 'failed', reason: 'server-error', isOutage: true, mayRetry: true },
  usage: { inputTokens: 0, outputTokens: 0 },
}

describe('order', () => {
  it('within a subscription is kept, whoever was asked again', async () => {
    const bench = open()
    bench.subscribe('s1')
    bench.model.answer = (request, nth) =>
      nth === 1 ? { ...outage, reason: 'empty', isOutage: false } : honest(request, nth)
    await bench.start('one')
    const ids = await bench.send('s1', 'yes', 'no', 'yes again')
    await hasJudged(bench, 3)
    assert.deepEqual(
      bench.judged().map(({ candidateId }) => candidateId),
      ids,
    )
    assert.deepEqual(outcomes(bench), ['matched', 'not-matched', 'matched'])
    assert.equal(bench.model.calls.length, 4)
  })

  it('of subscriptions is free: a slow one delays nobody else', async () => {
    const bench = open()
    bench.subscribe('slow', { condition: { criterion: 'slow' } })
    bench.subscribe('fast')
    bench.model.answer = (request, nth) =>
      /Criterion:\nslow/.test(request.instructions) ? new Promise(() => {}) : honest(request, nth)
    await bench.start('one')
    await bench.send('slow', 'yes')
    await bench.send('fast', 'yes', 'no')
    await hasJudged(bench, 2)
    assert.deepEqual(outcomes(bench), ['matched', 'not-matched'])
    assert.equal(
      await bench.log
        .open('r')
        .lag('judge', ['evaluations'])
        .then(l => l[0]?.lag),
      3,
    )
    bench.model.answer = honest
  })
})

describe('money', () => {
  it('is reserved before a call and settled after it, once per candidate and attempt', async () => {
    const bench = open()
    bench.subscribe('s1')
    let held = 0
    bench.model.answer = async (request, nth) => {
      held = await bench.counter('subscription', 's1', 'tokens')
      return honest(request, nth)
    }
    await bench.start('one')
    await bench.send('s1', 'yes', 'no')
    await hasJudged(bench, 2)
    assert.ok(held > 800, `reserved ${held}`)
    assert.equal(await bench.counter('subscription', 's1', 'tokens'), 240)
    assert.equal(await bench.counter('owner', 'user:ana', 'money'), 280)
    const usage = bench.rows('usage', 'usage')
    assert.equal(new Set(usage.map(u => `${u.subject}/${u.attempt}`)).size, 2)
    assert.equal(
      usage.reduce((sum, u) => sum + u.inputTokens + u.outputTokens, 0),
      240,
    )
    assert.equal(
      usage.reduce((sum, u) => sum + u.calls, 0),
      1,
    )
  })

  it('is not spent where the counter cannot be read: the candidate stays held (I8)', async () => {
    const bench = open()
    bench.subscribe('s1')
    await bench.start('one')
    bench.bench.faults.beforeStore = failing(1000, 'store-unavailable')
    await bench.send('s1', 'yes')
    await bench.clock.advance(5000)
    assert.deepEqual([bench.model.calls.length, bench.judged().length], [0, 0])
    delete bench.bench.faults.beforeStore
    await hasJudged(bench, 1)
    assert.equal(bench.model.calls.length, 1)
  })

  it('that was spent is settled once the store is back, without a second call', async () => {
    const bench = open()
    bench.subscribe('s1')
    bench.model.answer = (request, nth) => {
      bench.bench.faults.beforeStore = failing(20, 'store-unavailable')
      return honest(request, nth)
    }
    await bench.start('one')
    await bench.send('s1', 'yes')
    await hasJudged(bench, 1)
    assert.equal(bench.model.calls.length, 1)
    assert.equal(await bench.counter('subscription', 's1', 'tokens'), 240)
    assert.equal(bench.rows('usage', 'usage').length, 1)
  })
})

describe('money at a loss', () => {
  it('of a process that died in a call is given back; the next one judges', async () => {
    const bench = open()
    bench.subscribe('s1')
    bench.model.answer = () => new Promise(() => {})
    const first = await bench.start('one')
    await bench.send('s1', 'yes')
    await bench.clock.until(() => bench.model.calls.length === 1)
    first.crash()
    bench.model.answer = honest
    await bench.start('two')
    await hasJudged(bench, 1)
    assert.equal(bench.model.calls.length, 2)
    assert.ok((await bench.counter('subscription', 's1', 'tokens')) > 240)
    await bench.clock.advance(120_000)
    assert.equal(await bench.counter('subscription', 's1', 'tokens'), 240)
    const attempts = bench.rows('usage', 'usage').map(({ attempt }) => attempt)
    assert.deepEqual(attempts, [2])
  })

  it('of an answer that was settled before a crash is not paid for again', async () => {
    const bench = open()
    bench.subscribe('s1')
    const first = await bench.start('one')
    bench.bench.faults.beforeStore = call => {
      // The settlement is the second commit after the call; the one that writes the fate fails.
      if (call.op !== 'commit' || bench.model.calls.length === 0) return
      if (bench.rows('usage', 'usage').length > 0) {
        delete bench.bench.faults.beforeStore
        first.crash()
        throw new Error('the process died')
      }
    }
    await bench.send('s1', 'yes')
    await bench.clock.until(() => bench.rows('usage', 'usage').length > 0)
    await bench.clock.advance(1000)
    assert.equal(bench.judged().length, 0)
    await bench.start('two')
    await hasJudged(bench, 1)
    assert.equal(bench.model.calls.length, 1)
    assert.equal(bench.judged()[0]?.verdict?.cached, true)
  })
})

describe('money in a store that went back', () => {
  /** Judges one text, and puts the store back to the moment of its call. */
  async function goneBack(bench: Bench) {
    bench.subscribe('s1')
    let before: ReturnType<typeof bench.store.snapshot> | undefined
    bench.model.answer = (request, nth) => {
      before = bench.store.snapshot()
      return honest(request, nth)
    }
    await bench.start('one')
    await bench.send('s1', 'yes')
    await hasJudged(bench, 1)
    assert.ok(before)
    bench.store.restore(before)
    bench.model.answer = honest
  }

  it('that was held then is not taken off what was paid (I8)', async () => {
    const bench = open()
    await goneBack(bench)
    await bench.clock.advance(120_000)
    assert.equal(await bench.counter('subscription', 's1', 'tokens'), 240)
    assert.equal(await bench.counter('owner', 'user:ana', 'money'), 280)
  })
})

describe('failures in a store that was lost', () => {
  it('are counted again from the log, a record that was appended twice once', async () => {
    const bench = open()
    bench.subscribe('s1')
    bench.model.answer = () => outage
    await bench.start('one')
    await bench.send('s1', ...Array.from({ length: 13 }, (_, n) => `yes ${n}`))
    await hasJudged(bench, 13)
    const [, ...twice] = bench.log.records('verdicts')
    const copies = twice.slice(-3).map(({ value, headers, key }) => ({
      ...{ topic: 'verdicts' as const, value, key: Buffer.from(key ?? []).toString() },
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, bytes]) => [name, Buffer.from(bytes).toString()]),
      ),
    }))
    await bench.log.open('network').append([...copies, ...copies, ...copies])
    bench.store.flush()
    await bench.clock.advance(5000)
    const suspensions = () =>
      bench.rows('registry.changes', 'change').filter(({ action }) => action === 'suspend').length
    assert.equal(suspensions(), 1)
    await bench.send('s1', 'yes again')
    await hasJudged(bench, 14)
    const state = await bench.store.open('t').load({ tenant: TENANT, documents: [judgeKey('s1')] })
    const body = JSON.parse(state.documents.get(judgeKey('s1'))?.body ?? '{}') as JudgeState
    assert.equal(body.failed.length, 4)
  })
})

describe('money of many', () => {
  it('stays below the owner’s limit with many subscriptions on many partitions', async () => {
    const limit = 9000
    const bench = open({ partitions: 4, policy: { budgets: { owner: { tokensPerDay: limit } } } })
    let highest = 0
    bench.model.answer = async (request, nth) => {
      highest = Math.max(highest, await bench.counter('owner', 'user:ana', 'tokens'))
      return honest(request, nth)
    }
    await bench.start('one')
    await bench.start('two')
    for (let s = 0; s < 8; s++) {
      bench.subscribe(`s${s}`)
      await bench.send(`s${s}`, ...Array.from({ length: 12 }, (_, at) => `yes ${s} ${at}`))
    }
    await hasJudged(bench, 96)
    const used = await bench.counter('owner', 'user:ana', 'tokens')
    assert.ok(highest <= limit && used <= limit && used > 0, `${highest} ${used}`)
    assert.ok(outcomes(bench).includes('over-budget'))
    const paid = bench.rows('usage', 'usage')
    assert.equal(
      paid.reduce((sum, u) => sum + u.inputTokens + u.outputTokens, 0),
      used,
    )
  })

  it('is counted again from the log after the store was lost (I5)', async () => {
    const bench = open()
    bench.subscribe('s1')
    await bench.start('one')
    await bench.send('s1', 'yes', 'no')
    await hasJudged(bench, 2)
    bench.store.flush()
    await bench.clock.advance(5000)
    assert.equal(await bench.counter('subscription', 's1', 'tokens'), 240)
    await bench.send('s1', 'no more')
    await hasJudged(bench, 3)
    assert.equal(await bench.counter('subscription', 's1', 'tokens'), 480)
  })
})

describe('admission', () => {
  it('asks nobody inside a cooldown that drops, and says so', async () => {
    const bench = open()
    bench.subscribe('s1', { limits: { cooldownMs: 60_000, cooldownRule: 'drop' } })
    const body = JSON.stringify({ deliveredAt: bench.clock.now() })
    await bench.store
      .open('guard')
      .commit({ tenant: TENANT, put: [{ key: guardKey('s1'), version: 1, body }] })
    await bench.start('one')
    await bench.send('s1', 'yes')
    await hasJudged(bench, 1)
    assert.deepEqual(outcomes(bench), ['cooldown'])
    assert.equal(bench.model.calls.length, 0)
  })
})

describe('what an operator sees', () => {
  it('is the calls under way and a breaker that opens and closes again', async () => {
    const states: { underWay: number; isOpen: boolean }[] = []
    const bench = open({ onState: ({ underWay, isOpen }) => states.push({ underWay, isOpen }) })
    bench.subscribe('s1')
    bench.model.answer = () => outage
    await bench.start('one')
    for (let nth = 1; nth <= 2; nth++) {
      await bench.send('s1', `yes ${nth}`)
      await hasJudged(bench, nth)
    }
    assert.deepEqual(states.at(-1), { underWay: 0, isOpen: true })
    assert.equal(Math.max(...states.map(({ underWay }) => underWay)), 1)
    bench.model.answer = honest
    await bench.clock.advance(30_000)
    await bench.send('s1', 'yes at last')
    await hasJudged(bench, 3)
    assert.deepEqual(states.at(-1), { underWay: 0, isOpen: false })
  })
})

describe('an estimate', () => {
  it('says who would judge, and calls nobody', async () => {
    const bench = open()
    bench.subscribe('s1')
    await bench.start('one')
    const subscription = bench.subscriptions.get('s1')
    const trial = {
      ...{ id: 't1', tenant: TENANT, kind: 'test', stage: 'estimate', isSaved: false },
      ...{ subscription, items: [], usage: {}, by: {}, at: 0 },
    }
    const value = createRecordCodec().encode('trial', trial)
    const headers = { ce_tenant: TENANT, ce_id: trial.id }
    await bench.log.open('control').append([{ topic: 'trials', key: trial.id, value, headers }])
    const results = () => bench.rows('trials.results', 'trial-result')
    await bench.clock.until(() => results().length === 1)
    const [result] = results()
    const { judge } = (result?.progress ?? {}) as { judge?: JudgeIdentity }
    assert.deepEqual([result?.state, judge?.models, judge?.prompt], ['done', ['m'], 'p1'])
    assert.equal(bench.model.calls.length, 0)
  })
})

describe('failure', () => {
  it('opens the breaker after five calls, and suspends after ten evaluations', async () => {
    const bench = open()
    bench.subscribe('s1')
    bench.model.answer = () => outage
    await bench.start('one')
    for (let nth = 1; nth <= 10; nth++) {
      await bench.send('s1', `yes ${nth}`)
      await hasJudged(bench, nth)
    }
    assert.equal(bench.model.calls.length, 5)
    assert.deepEqual(new Set(outcomes(bench)), new Set(['failed']))
    const [change] = bench.rows('registry.changes', 'change')
    assert.deepEqual([change?.action, change?.id, change?.ifVersion], ['suspend', 's1', 1])
    assert.equal(bench.rows('notices', 'notice').length, 1)
    bench.model.answer = honest
    await bench.clock.advance(30_000)
    await bench.send('s1', 'yes at last')
    await hasJudged(bench, 11)
    assert.equal(outcomes(bench).at(-1), 'matched')
  })

  it('of an answer cut off by its ceiling asks for more room the next time', async () => {
    const bench = open()
    bench.subscribe('s1')
    bench.model.answer = (request, nth) =>
      request.outputTokensMax < 2000
        ? { ...outage, reason: 'cut-off', isOutage: false }
        : honest(request, nth)
    await bench.start('one')
    await bench.send('s1', 'yes')
    await hasJudged(bench, 1)
    assert.deepEqual(outcomes(bench), ['matched'])
    assert.deepEqual(
      bench.model.calls.map(call => call.outputTokensMax),
      [600, 2400],
    )
  })
})

describe('a set', () => {
  it('has one verdict for all of its candidates, each with its own evidence', async () => {
    const bench = open()
    bench.subscribe('s1', { condition: { scope: 'set' } })
    bench.model.answer = () => ({
      kind: 'answer',
      text: JSON.stringify({
        verdicts: [
          {
            ...{ item: 0, matched: true, confidence: 0.9, reason: 'together' },
            evidence: [
              { quote: 'first half', pointer: '/1/text' },
              { quote: 'second half', pointer: '/2/text' },
            ],
          },
        ],
      }),
      usage: { inputTokens: 100, outputTokens: 20 },
    })
    await bench.start('one')
    await bench.send('s1', 'the first half', 'the second half')
    await hasJudged(bench, 2)
    assert.equal(bench.model.calls.length, 1)
    assert.deepEqual(outcomes(bench), ['matched', 'matched'])
    assert.deepEqual(
      bench
        .judged()
        .map(({ verdict }) => (verdict?.body as { evidence?: unknown } | undefined)?.evidence),
      [
        [{ quote: 'first half', pointer: '/1/text' }],
        [{ quote: 'second half', pointer: '/2/text' }],
      ],
    )
  })
})
