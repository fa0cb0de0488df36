import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { askFactsOf } from '#kernel/domain/ask.ts'
import type { Limits } from '#kernel/domain/limits.ts'
import type { Candidate } from '#schemas/generated/records.ts'
import { createJudgeBench, TENANT } from '#test/support/judge-bench.ts'
import { askKey } from './judge/judge-memory.ts'

type Bench = ReturnType<typeof createJudgeBench>
type Decision = 'accept' | 'ignore'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const CONDITION = { minConfidence: 0.95, askConfidence: 0.5 }
const START_AT = (bench: Bench) => new Date(bench.clock.now()).toISOString()

let world: Bench | undefined
afterEach(async () => {
  await world?.stop()
  world = undefined
})

/** A process that judges, and candidates of `s1` that a person is asked about. */
async function asking(
  more: { limits?: Partial<Limits>; texts?: string[]; isAtomic?: boolean } = {},
) {
  const { limits = {}, texts = ['yes'], isAtomic = false } = more
  const bench = createJudgeBench({ isAtomic })
  world = bench
  bench.subscribe('s1', { condition: CONDITION, limits })
  const process = await bench.start('one')
  const ids = await bench.send('s1', ...texts)
  await bench.clock.until(() => asked(bench).length === texts.length)
  return { bench, process, ids, id: ids[0] ?? '' }
}

const asked = ({ rows }: Bench): Candidate[] =>
  rows('evaluations', 'candidate').filter(({ verdict }) => verdict?.outcome === 'ask')
/** Every append for the guard, repeats included. */
const forwarded = ({ rows }: Bench) => rows('candidates', 'candidate')
const ends = ({ rows }: Bench) =>
  rows('verdicts', 'verdict').flatMap(verdict => {
    const { answer, lapse } = askFactsOf(verdict)
    return answer ? [answer.decision] : lapse ? [lapse.reason] : []
  })
const notices = ({ rows }: Bench) => rows('notices', 'notice').filter(({ kind }) => kind === 'ask')
const documentOf = async ({ store }: Bench, subscription: string, id: string) => {
  const key = askKey(subscription, id)
  const { documents } = await store.open('t').load({ tenant: TENANT, documents: [key] })
  const body = documents.get(key)?.body
  return body === undefined ? undefined : (JSON.parse(body) as Record<string, unknown>)
}
const says = (candidate: Candidate | undefined) => {
  const { answer } = askFactsOf(candidate?.verdict)
  return [candidate?.verdict?.outcome, answer?.decision, answer?.by]
}
const answered = (bench: Bench, count = 1) =>
  bench.clock.until(() => bench.judged().length >= count, 60_000)

/** Nobody runs while days go by: what was due is done by the next process. */
async function later(bench: Bench, ms: number, name: string): Promise<void> {
  await bench.stop()
  await bench.clock.advance(ms)
  await bench.start(name)
  await bench.clock.advance(2000)
}

describe('an ask', () => {
  it('waits, with one notice, and an answer sends it to the guard', async () => {
    const { bench, id } = await asking()
    assert.equal(bench.judged().length, 0)
    assert.equal(notices(bench).length, 1)
    await bench.answer('s1', id, ['accept', 'user:ana'])
    await answered(bench)
    const [candidate] = bench.judged()
    assert.deepEqual(says(candidate), ['matched', 'accept', 'user:ana'])
    assert.ok(candidate?.event, 'the event goes with it')
    assert.equal(candidate.verdict?.confidence, 0.9, 'the model’s own statement stays')
    assert.equal(bench.model.calls.length, 1)
    assert.deepEqual(ends(bench), ['accept'])
  })

  it('that a person ignores is not matched, and says who', async () => {
    const { bench, id } = await asking()
    await bench.answer('s1', id, ['ignore', 'user:bo'])
    await answered(bench)
    assert.deepEqual(says(bench.judged()[0]), ['not-matched', 'ignore', 'user:bo'])
  })

  it('is asked about once, however often its event comes', async () => {
    const { bench } = await asking()
    await bench.append(bench.rows('evaluations', 'candidate').slice(0, 1))
    await bench.clock.advance(2000)
    assert.equal(asked(bench).length, 1)
    assert.equal(bench.model.calls.length, 1)
    assert.equal(bench.judged().length, 0)
  })

  it('takes the first of two answers that come at once', async () => {
    const { bench, id } = await asking()
    await bench.answer('s1', id, ['ignore', 'user:bo'], ['accept', 'user:ana'])
    await answered(bench)
    await bench.clock.advance(2000)
    assert.deepEqual(forwarded(bench).map(says), [['not-matched', 'ignore', 'user:bo']])
    assert.deepEqual(ends(bench), ['ignore'])
  })

  it('that nobody knows is answered by nothing', async () => {
    const { bench } = await asking()
    await bench.answer('s1', 'c_unknown', ['accept', 'user:ana'])
    await bench.clock.advance(2000)
    assert.deepEqual([forwarded(bench).length, ends(bench).length], [0, 0])
  })
})

describe('an ask that waits long', () => {
  it('is appended again after six days, and again, with the time of its match', async () => {
    const { bench, id } = await asking()
    const [first] = asked(bench)
    await later(bench, 5 * DAY, 'two')
    assert.equal(asked(bench).length, 1, 'not before')
    await later(bench, DAY, 'three')
    assert.equal(asked(bench).length, 2)
    await later(bench, 5 * DAY, 'four')
    assert.equal(asked(bench).length, 2)
    await later(bench, DAY, 'five')
    const all = asked(bench)
    assert.equal(all.length, 3)
    assert.deepEqual(new Set(all.map(({ at }) => at)), new Set([first?.at]))
    assert.deepEqual(new Set(all.map(({ verdict }) => askFactsOf(verdict).askedAt)).size, 1)
    assert.equal(notices(bench).length, 1)
    await bench.answer('s1', id, ['accept', 'user:ana'])
    await answered(bench)
    assert.deepEqual(says(bench.judged()[0]), ['matched', 'accept', 'user:ana'])
    await later(bench, 7 * DAY, 'six')
    assert.equal(asked(bench).length, 3, 'what was answered is not appended again')
  })

  it('outlives its first record, and the store', async () => {
    const { bench, id } = await asking()
    await later(bench, 6 * DAY, 'two')
    const topic = 'evaluations'
    const [, , again] = bench.log.records(topic)
    assert.ok(again, 'candidate, question, question again')
    bench.log.dropBelow({ topic, partition: 0, offset: again.offset })
    bench.store.flush()
    await bench.clock.advance(5000)
    assert.ok(await documentOf(bench, 's1', id))
    await bench.answer('s1', id, ['accept', 'user:ana'])
    await answered(bench)
    assert.deepEqual(says(bench.judged()[0]), ['matched', 'accept', 'user:ana'])
  })
})

describe('an ask that no answer could help any more', () => {
  it('lapses as stale when its event is too old, and takes no answer then', async () => {
    const { bench, id } = await asking({ limits: { maxEventAgeMs: 2 * HOUR } })
    await later(bench, HOUR, 'two')
    assert.equal(bench.judged().length, 0)
    await later(bench, 2 * HOUR, 'three')
    const [candidate] = bench.judged()
    const { lapse } = askFactsOf(candidate?.verdict)
    assert.deepEqual(
      [candidate?.verdict?.outcome, lapse?.fate, lapse?.reason],
      ['ask', 'stale', 'too-old'],
    )
    await bench.answer('s1', id, ['accept', 'user:ana'])
    await bench.clock.advance(2000)
    assert.deepEqual(ends(bench), ['too-old'])
    assert.equal(forwarded(bench).length, 1)
  })

  const ENDS: [string, (bench: Bench) => void, string][] = [
    ['was deleted', bench => setOperation(bench, 'deleted'), 'deleted'],
    ['has expired', bench => setOperation(bench, 'expired'), 'expired'],
    [
      'reached its last day',
      bench =>
        bench.subscribe('s1', { condition: CONDITION, limits: { expiresAt: START_AT(bench) } }),
      'expired',
    ],
    [
      'has another criterion',
      bench => bench.subscribe('s1', { condition: { ...CONDITION, criterion: 'it says no' } }),
      'superseded',
    ],
  ]
  for (const [what, change, reason] of ENDS) {
    it(`lapses within a day when its subscription ${what}`, async () => {
      const { bench } = await asking()
      change(bench)
      await later(bench, DAY, 'two')
      const { lapse } = askFactsOf(bench.judged()[0]?.verdict)
      assert.deepEqual([lapse?.fate, lapse?.reason], ['inactive', reason])
    })
  }

  it('waits on while its subscription is paused', async () => {
    const { bench } = await asking()
    setOperation(bench, 'paused')
    await later(bench, 7 * DAY, 'two')
    assert.equal(bench.judged().length, 0)
    assert.equal(asked(bench).length, 2)
  })
})

function setOperation({ subscriptions }: Bench, operation: 'deleted' | 'expired' | 'paused'): void {
  const known = subscriptions.get('s1')
  assert.ok(known)
  subscriptions.set('s1', { ...known, state: { ...known.state, operation } })
}

/**
 * Records that are older than the answer come again: the same offsets after they were forgotten,
 * the same records at new places, and both after the store was lost. Wrong would be a second
 * question, one that is held, or another answer for the guard.
 */
describe('an old record of an ask that is over', () => {
  async function over(decision: Decision) {
    const { bench, id, process } = await asking()
    const old = bench.rows('evaluations', 'candidate')
    await bench.answer('s1', id, [decision, 'user:ana'])
    await answered(bench)
    return { bench, id, process, old }
  }

  async function assertOver(bench: Bench, id: string, questions: number): Promise<void> {
    await bench.clock.advance(5000)
    assert.deepEqual(new Set(forwarded(bench).map(each => says(each).join(' '))).size, 1)
    assert.deepEqual(new Set(ends(bench)), new Set(['accept']))
    assert.equal(asked(bench).length, questions, 'nobody asked anew')
    assert.equal(notices(bench).length, 1)
    assert.equal(bench.model.calls.length, 1)
    const held = await documentOf(bench, 's1', id)
    assert.ok(held && 'ended' in held, JSON.stringify(held))
    await later(bench, 7 * DAY, 'late')
    assert.equal(asked(bench).length, questions, 'nor appended it again')
  }

  it('is not held anew when it is delivered again', async () => {
    const { bench, id, old } = await over('accept')
    await bench.append(old)
    await assertOver(bench, id, 2)
  })

  it('is not held anew after offsets were forgotten', async () => {
    const { bench, id, process } = await over('accept')
    process.crash()
    bench.log.forgetOffsets('judge')
    await bench.start('two')
    await assertOver(bench, id, 1)
  })

  it('is not held anew after the store was lost', async () => {
    const { bench, id, old } = await over('accept')
    bench.store.flush()
    await bench.clock.advance(5000)
    await bench.append(old)
    await assertOver(bench, id, 2)
  })

  it('is not held anew after store, offsets and the answer’s record were lost', async () => {
    const { bench, id, process, old } = await over('accept')
    process.crash()
    // Retention took all that was written so far; a late copy of the question came behind it.
    const end = bench.log.records('evaluations').length
    await bench.append(old)
    bench.log.dropBelow({ topic: 'evaluations', partition: 0, offset: end })
    bench.log.forgetOffsets('judge')
    bench.store.flush()
    await bench.start('two')
    await bench.clock.advance(5000)
    const held = await documentOf(bench, 's1', id)
    assert.ok(held && 'ended' in held, JSON.stringify(held))
    assert.equal(notices(bench).length, 1)
    assert.equal(bench.model.calls.length, 1)
  })
})

describe('an answer', () => {
  it('survives a process that dies before it is written down', async () => {
    const { bench, process, id } = await asking()
    let isDead = false
    bench.bench.faults.beforeStore = call => {
      if (call.op !== 'commit' || isDead) return
      isDead = true
      process.crash()
      throw new Error('the process died')
    }
    await bench.answer('s1', id, ['accept', 'user:ana'])
    await bench.clock.until(() => isDead)
    assert.equal(forwarded(bench).length, 0)
    await bench.start('two')
    await answered(bench)
    assert.deepEqual(forwarded(bench).map(says), [['matched', 'accept', 'user:ana']])
  })

  it('survives a process that dies when it was written down and not forwarded', async () => {
    const { bench, process, id } = await asking()
    let isDead = false
    bench.bench.faults.beforeLog = call => {
      if (call.op !== 'append' || isDead) return
      if (!call.records.some(({ topic }) => topic === 'candidates')) return
      isDead = true
      process.crash()
      throw new Error('the process died')
    }
    await bench.answer('s1', id, ['accept', 'user:ana'])
    await bench.clock.until(() => isDead)
    assert.equal(forwarded(bench).length, 0)
    const mark = await documentOf(bench, 's1', id)
    assert.ok(mark && 'ended' in mark)
    await bench.start('two')
    await answered(bench)
    assert.deepEqual(says(forwarded(bench)[0]), ['matched', 'accept', 'user:ana'])
    await bench.clock.advance(5000)
    assert.deepEqual(new Set(bench.judged().map(({ candidateId }) => candidateId)), new Set([id]))
  })

  /** The verdict is in the log, the candidate is not, and the store with the outbox is gone. */
  it('is forwarded from the log when the store is lost as well', async () => {
    const { bench, process, id } = await asking()
    // Until the offsets of what was read are stored: only the answer comes again.
    await bench.clock.advance(10_000)
    let isDead = false
    bench.bench.faults.beforeLog = async call => {
      if (call.op !== 'append' || isDead) return
      if (!call.records.some(({ topic }) => topic === 'candidates')) return
      isDead = true
      const verdicts = call.records.filter(({ topic }) => topic === 'verdicts')
      process.crash()
      await bench.log.open('cut-off').append(verdicts)
      bench.store.flush()
      throw new Error('the process died')
    }
    await bench.answer('s1', id, ['accept', 'user:ana'])
    await bench.clock.until(() => isDead)
    assert.deepEqual([forwarded(bench).length, ends(bench)], [0, ['accept']])
    await bench.start('two')
    await answered(bench)
    assert.deepEqual(says(forwarded(bench)[0]), ['matched', 'accept', 'user:ana'])
  })
})

describe('two replicas', () => {
  it('forward every answer once, whoever owns its partition', async () => {
    const bench = createJudgeBench({ partitions: 4 })
    world = bench
    await bench.start('one')
    await bench.start('two')
    const asks: { subscription: string; id: string }[] = []
    for (let at = 0; at < 6; at++) {
      const subscription = `s${at}`
      bench.subscribe(subscription, { condition: CONDITION })
      const ids = await bench.send(subscription, `yes ${at}`, `yes again ${at}`)
      asks.push(...ids.map(id => ({ subscription, id })))
    }
    await bench.clock.until(() => asked(bench).length === asks.length, 60_000)
    for (const { subscription, id } of asks) {
      await bench.answer(subscription, id, ['accept', 'user:ana'], ['ignore', 'user:bo'])
    }
    await bench.clock.advance(100)
    const three = await bench.start('three')
    await answered(bench, asks.length)
    three.crash()
    await bench.clock.advance(20_000)
    const outcomes = Map.groupBy(forwarded(bench), ({ candidateId }) => candidateId)
    assert.equal(outcomes.size, asks.length)
    for (const each of outcomes.values()) {
      assert.deepEqual(
        [...new Set(each.map(one => says(one).join(' ')))],
        ['matched accept user:ana'],
      )
    }
  })
})
