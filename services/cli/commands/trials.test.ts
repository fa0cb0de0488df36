/** What a person reads of dry runs and of what they cost. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CliSurroundings, callCli } from '#test/support/cli-call.ts'
import { problem, type ScriptedAnswer, scriptedServer } from '#test/support/scripted-server.ts'
import { EXIT } from '../exit-codes.ts'

type Routes = Record<string, ScriptedAnswer | (() => ScriptedAnswer)>

async function call(argv: string[], routes: Routes, surroundings: CliSurroundings = {}) {
  const server = await scriptedServer(({ method, path }) => {
    const found = routes[`${method} ${path}`] ?? problem(404, 'not-found')
    return typeof found === 'function' ? (found as () => ScriptedAnswer)() : found
  })
  const told = await callCli([...argv, '--url', server.url], surroundings)
  await server.close()
  return { ...told, asked: server.requests.map(({ method, path }) => `${method} ${path}`) }
}

const spent = { calls: 3, inputTokens: 900, outputTokens: 100, totalTokens: 1000, cost: '0.02' }
const nothing = { calls: 0, inputTokens: 0, outputTokens: 0, totalTokens: 0, cost: '0' }
const items = [
  {
    ...{ at: '2026-12-01T00:00:00.000Z', event: { id: 'e1' }, fate: 'delivered' },
    verdict: { outcome: 'matched', confidence: 0.9, model: 'm', evidence: [{ quote: 'my money' }] },
  },
  {
    ...{ at: '2026-12-01T00:01:00.000Z', event: { id: 'e2' }, fate: null, verdict: null },
    ...{ reason: 'filter', details: { filter: '/filters/0' } },
  },
]

describe('ambit test', () => {
  const files = { 'e.json': '[{"source":"s","type":"t","id":"e1"}]' }
  const tryOn = (answer: object, argv: string[] = ['-e', 'e.json']) =>
    call(['test', 's1', ...argv], { 'POST /v1/subscriptions/s1/test': { body: answer } }, { files })

  it('says each fate, its evidence, the filter that refused, and what judging took', async () => {
    const { exit, stdout, stderr } = await tryOn({ items, usage: spent })
    assert.equal(exit, EXIT.ok)
    assert.match(stdout, /^e1 +matched 0.9 \(m\) +delivered +- +my money$/m)
    assert.match(stdout, /^e2 +- +not matched +filter \/filters\/0 +-$/m)
    assert.match(stderr, /Judging took 3 calls, 1000 tokens, 0.02 of the tenant's currency\.$/m)
  })

  it('says that an observation found nothing, and that no model was asked', async () => {
    const { stdout, stderr } = await tryOn({ items: [], usage: nothing }, [])
    assert.equal(stdout, '')
    assert.match(stderr, /found no items\.\nNobody was woken. Judging took nothing: no model/)
  })

  it('waits for a slow judge instead of asking, and paying, twice', async () => {
    const states: ScriptedAnswer[] = [
      { status: 202, body: { id: 't1', state: 'running' } },
      { body: { items, usage: spent } },
    ]
    const { stdout, asked } = await call(
      ['test', 's1', '-e', 'e.json'],
      {
        'POST /v1/subscriptions/s1/test': {
          status: 202,
          body: { id: 't1', state: 'running', status: '/v1/trials/t1' },
        },
        'GET /v1/trials/t1': () => states.shift() ?? problem(404, 'not-found'),
      },
      { files },
    )
    assert.match(stdout, /^e1 +matched/m)
    const [first, ...others] = asked
    assert.equal(first, 'POST /v1/subscriptions/s1/test')
    assert.deepEqual(new Set(others), new Set(['GET /v1/trials/t1']))
  })

  it('wants one subscription, saved or in a file', async () => {
    const { exit, stderr, asked } = await call(['test'], {})
    assert.equal(exit, EXIT.usage)
    assert.match(stderr, /ambit test ID or ambit test -f FILE/)
    assert.deepEqual(asked, [])
  })
})

describe('ambit backtest', () => {
  const estimate = { events: 40, matched: 2, isCut: false, ...spent }
  const base = { id: 'b1', hours: 24, subscription: 's1', estimate, fired: 0, items: [] }
  const at = (state: string, done: number, more: object = {}) => ({
    body: { ...base, state, progress: { done, total: 2 }, usage: nothing, ...more },
  })
  const confirmed = (...states: ScriptedAnswer[]): Routes => ({
    'POST /v1/backtests': { status: 201, ...at('estimated', 0) },
    'POST /v1/backtests/b1/confirm': at('running', 0),
    'GET /v1/backtests/b1': () => states.shift() ?? problem(404, 'not-found'),
    'DELETE /v1/backtests/b1': at('cancelled', 1, { usage: spent }),
  })

  it('prints the estimate and judges nothing before it is confirmed', async () => {
    const { exit, stdout, stderr, asked } = await call(['backtest', 's1'], confirmed())
    assert.equal(exit, EXIT.ok)
    assert.match(stdout, /^40 events in the last 24 h, 2 of them pass the filters\. /)
    assert.match(stdout, /takes at most 3 calls, 1000 tokens, 0.02 of the tenant's currency\.$/m)
    assert.match(stderr, /confirm with --yes/)
    assert.deepEqual(asked, ['POST /v1/backtests'])
  })

  it('says how far it is, then how often it would have fired and what that took', async () => {
    const done = at('done', 2, { fired: 1, items, usage: spent })
    const routes = confirmed(at('running', 1), done)
    const { exit, stdout, stderr } = await call(['backtest', 's1', '--yes'], routes)
    assert.equal(exit, EXIT.ok)
    assert.match(stderr, /^1 of 2 judged$/m)
    assert.match(stdout, /^2026-12-01T00:00:00Z +e1 +matched 0.9 \(m\) +delivered/m)
    assert.match(stdout, /^It would have fired once. Judging took 3 calls/m)
  })

  it('that failed says why, and no count that nobody found', async () => {
    const failed = at('failed', 1, { reason: 'its process has gone; start it again' })
    const { exit, stdout, stderr } = await call(['backtest', 's1', '--yes'], confirmed(failed))
    assert.equal(exit, EXIT.failed)
    assert.equal(stdout, '')
    assert.match(stderr, /is failed after 1 of 2: its process has gone; start it again\./)
  })

  it('is cancelled by an interrupt', async () => {
    const interrupt = new AbortController()
    const routes = confirmed()
    const running = () => {
      interrupt.abort()
      return at('running', 1)
    }
    const { exit, stderr, asked } = await call(
      ['backtest', 's1', '--yes'],
      { ...routes, 'GET /v1/backtests/b1': running },
      { interrupted: interrupt.signal },
    )
    assert.equal(exit, EXIT.failed)
    assert.equal(asked.at(-1), 'DELETE /v1/backtests/b1')
    assert.match(stderr, /is cancelled after 1 of 2. Judging took 3 calls/)
  })
})

describe('ambit usage and schedule', () => {
  const named = { 'GET /v1/subscriptions': { body: { items: [{ id: 's1', name: 'refunds' }] } } }
  const row = { activations: 4, polls: 7, ...spent }

  it('names the subscriptions that cost something', async () => {
    const rows = [
      { subscription: 's1', ...row },
      { subscription: 'gone', ...row },
    ]
    const { stdout } = await call(['usage'], {
      ...named,
      'GET /v1/usage': { body: { items: rows } },
    })
    assert.match(stdout, /^refunds +s1 +4 +7 +3 +1000 +0.02$/m)
    assert.match(stdout, /^- +gone +4/m)
  })

  it('sums up by day without asking for names, and says when nothing was used', async () => {
    const days = { 'GET /v1/usage': { body: { items: [{ day: '2026-12-01', ...row }] } } }
    const { stdout, asked } = await call(['usage', '--by', 'day'], days)
    assert.match(stdout, /^DAY +ACTIVATIONS +POLLS +MODEL CALLS +TOKENS +COST\n2026-12-01 +4 +7 /)
    assert.deepEqual(asked, ['GET /v1/usage'])
    const none = await call(['usage'], { 'GET /v1/usage': { body: { items: [] } } })
    assert.deepEqual([none.stdout, none.stderr], ['', 'Nothing was used.\n'])
  })

  it('says what comes for whom, and how many were missed and why', async () => {
    const whose = { subscription: 's1', name: 'standup', agent: 'planner' }
    const rows = [
      { ...whose, at: 't0', state: 'missed', count: 3, reason: 'paused' },
      { ...whose, at: 't1', state: 'coming' },
    ]
    const { stdout } = await call(['schedule'], { 'GET /v1/schedule': { body: { items: rows } } })
    assert.match(stdout, /^t0 +missed +standup +planner +3 +paused +s1$/m)
    assert.match(stdout, /^t1 +coming +standup +planner +- +- +s1$/m)
  })
})
