/** Matches of middling confidence, from outside: what is asked, and what an answer does. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AskApproval, Decision, Explanation, Page, Trace } from '#services/client/api.ts'
import { type Api, eventually } from '#test/support/api-caller.ts'
import type { HostProcess } from '#test/support/host-process.ts'
import { assertProblem } from './scene.ts'

/** What the cases need of the suite around them. */
export interface AskScene {
  api(): Api
  host(): HostProcess
  subscribe(more: Record<string, unknown>): Promise<{ id: string; type: string; agent: string }>
  say(type: string, ...texts: string[]): Promise<string[]>
  fated(subscription: string, event: string): Promise<Decision>
}

const CONDITION = { criterion: 'the text says yes', minConfidence: 0.8, askConfidence: 0.5 }
const UNSURE = 'yes, sure 0.6'

export function askCases(scene: AskScene): void {
  describe('an ask', () => {
    answerCases(scene)
    authorityCases(scene)
    stateCases(scene)
    lastingCases(scene)
  })
}

/** A subscription of its own with one event that waits for a person. */
async function waiting(scene: AskScene, more: Record<string, unknown> = {}) {
  const subscription = await scene.subscribe({ condition: CONDITION, ...more })
  const [event = ''] = await scene.say(subscription.type, `${UNSURE} ${subscription.type}`)
  const ask = await eventually('the ask in the list', () => askOf(scene, subscription.id))
  return { ...subscription, event, ask, path: `/v1/approvals/${ask.id}` }
}

async function askOf(scene: AskScene, subscription: string): Promise<AskApproval | undefined> {
  const { items } = await scene.api().ok<Page<AskApproval>>('GET', '/v1/approvals?limit=200')
  return items.find(item => item.kind === 'ask' && item.subscription === subscription)
}

function answerCases(scene: AskScene): void {
  it('is listed with its evidence, and accepted goes to the agent', async () => {
    const { id, event, ask, path, type, agent } = await waiting(scene)
    const api = scene.api()
    assert.deepEqual(
      [ask.question, ask.confidence, ask.owner, ask.event.id],
      ['the text says yes', 0.6, 'user:admin', event],
    )
    const quote = `${UNSURE} ${type}`
    assert.deepEqual(ask.evidence, [{ quote, source: '/judge', pointer: '/text', untrusted: true }])
    assert.equal((await api.decision(id, event, 'held')).reason, 'waits-for-answer')
    const answer = await api.ok<Record<string, string>>('POST', path, { decision: 'accept' })
    assert.deepEqual([answer.decision, answer.by], ['accept', 'user:admin'])
    const decision = await scene.fated(id, event)
    assert.equal(decision.fate, 'delivered')
    assert.equal(decision.verdict?.outcome, 'matched')
    assert.deepEqual(decision.verdict?.answer, {
      ...{ decision: 'accept', by: 'user:admin', at: answer.at },
    })
    const [message, ...others] = await api.messages(agent)
    assert.equal(message?.evidence?.[0]?.quote, quote)
    assert.deepEqual(others, [])
    assert.equal(await askOf(scene, id), undefined)
    const query = new URLSearchParams({ source: '/judge', id: event })
    const { hops } = await api.ok<Trace>('GET', `/v1/traces?${query}`)
    const hop = hops.find(each => each.hop === 'answered')
    assert.deepEqual([hop?.by, hop?.decision], ['user:admin', 'accept'])
  })

  it('that is ignored is rejected by that person', async () => {
    const { id, event, path } = await waiting(scene)
    const api = scene.api()
    const query = new URLSearchParams({ source: '/judge', id: event, subscription: id })
    const before = await api.ok<Explanation>('GET', `/v1/explain?${query}`)
    const step = before.steps.find(each => each.step === 'condition')
    assert.deepEqual([step?.outcome, step?.reason], ['waiting', 'waits-for-answer'])
    await api.ok('POST', path, { decision: 'ignore', reason: 'not ours' })
    const { fate, reason, details } = await scene.fated(id, event)
    assert.deepEqual([fate, reason], ['rejected', 'ignored'])
    assert.equal((details as { by: string }).by, 'user:admin')
    const after = await api.ok<Explanation>('GET', `/v1/explain?${query}`)
    assert.equal(after.steps.find(each => each.step === 'condition')?.outcome, 'failed')
  })

  it('takes one answer: the same again is that one, another is refused', async () => {
    const { path, agent, id, event } = await waiting(scene)
    const api = scene.api()
    assertProblem(await api.call('POST', path, { body: { decision: 'edit' } }), 422, 'invalid')
    const [one, two] = await Promise.all(
      ['accept', 'ignore'].map(decision => api.call('POST', path, { body: { decision } })),
    )
    assert.deepEqual([one?.status, two?.status].sort(), [200, 409])
    const winner: unknown = one?.status === 200 ? one.json : two?.json
    const { decision } = winner as { decision: string }
    assert.deepEqual(await api.ok('POST', path, { decision }), winner)
    const other = decision === 'accept' ? 'ignore' : 'accept'
    assertProblem(await api.call('POST', path, { body: { decision: other } }), 409, 'conflict')
    const { fate } = await scene.fated(id, event)
    assert.equal(fate, decision === 'accept' ? 'delivered' : 'rejected')
    assert.equal((await api.messages(agent)).length, decision === 'accept' ? 1 : 0)
  })
}

function authorityCases(scene: AskScene): void {
  it('is answered by the owner or who may approve, and by nobody else', async () => {
    const { path } = await waiting(scene, { owner: 'user:ask-owner' })
    const api = scene.api()
    const keyed = async (kind: string, id: string, roles: string[]) => {
      const body = { principal: { kind, id }, roles }
      return api.as((await api.ok<{ key: string }>('POST', '/v1/keys', body)).key)
    }
    const body = { decision: 'accept' }
    for (const [kind, who, roles] of [
      ['person', 'ask-viewer', ['viewer', 'owner']],
      ['agent', 'ask-agent', ['approver']],
    ] as const) {
      const stranger = await keyed(kind, who, [...roles])
      assertProblem(await stranger.call('POST', path, { body }), 403, 'forbidden')
    }
    const owner = await keyed('person', 'ask-owner', ['viewer'])
    const answer = await owner.ok<{ by: string }>('POST', path, body)
    assert.equal(answer.by, 'user:ask-owner')
  })
}

/** The guard decides at the time of the answer, as it does with every candidate. */
function stateCases(scene: AskScene): void {
  const changes: [string, (path: string) => Promise<unknown>, string][] = [
    ['paused', path => scene.api().ok('POST', `${path}/pause`, { reason: 'quiet' }), 'paused'],
    [
      'edited',
      path => {
        const condition = { ...CONDITION, criterion: 'the text says no' }
        return scene.api().ok('PATCH', path, { condition })
      },
      'superseded',
    ],
    ['deleted', path => scene.api().call('DELETE', path), 'deleted'],
  ]
  for (const [what, change, reason] of changes) {
    it(`wakes nobody when its subscription was ${what} before the answer`, async () => {
      const { id, event, path, agent } = await waiting(scene)
      await change(`/v1/subscriptions/${id}`)
      await scene.api().call('POST', path, { body: { decision: 'accept' } })
      const found = await scene.fated(id, event)
      assert.deepEqual([found.fate, found.reason], ['inactive', reason])
      assert.deepEqual(await scene.api().messages(agent), [])
    })
  }

  it('that nobody answers ends as stale when its event is too old', async () => {
    const { id, event, path } = await waiting(scene, { limits: { maxEventAgeMs: 4000 } })
    const found = await scene.fated(id, event)
    assert.deepEqual([found.fate, found.reason], ['stale', 'too-old'])
    assert.equal(await askOf(scene, id), undefined)
    const late = await scene.api().call('POST', path, { body: { decision: 'accept' } })
    assertProblem(late, 409, 'conflict')
  })
}

function lastingCases(scene: AskScene): void {
  it('is asked about once, however often its event is sent', async () => {
    const { id, event, path, type, agent } = await waiting(scene)
    const api = scene.api()
    const again = { type, source: '/judge', id: event, data: { text: `${UNSURE} ${type}` } }
    await api.publish(again)
    await api.ok('POST', path, { decision: 'accept' })
    await scene.fated(id, event)
    await api.publish(again)
    await eventually('the repeat', async () => {
      const [found] = await api.decisions({ subscription: id, event })
      return found?.repeats ? found : `repeats ${found?.repeats}`
    })
    assert.equal((await api.messages(agent)).length, 1)
    assert.equal(await askOf(scene, id), undefined)
  })

  it('waits and can be answered after the process was killed', async () => {
    const { id, event, path } = await waiting(scene)
    await scene.host().kill9()
    await scene.host().restart()
    await eventually('the ask in the list', () => askOf(scene, id))
    await scene.api().ok('POST', path, { decision: 'accept' })
    await scene.host().kill9()
    await scene.host().restart()
    assert.equal((await scene.fated(id, event)).fate, 'delivered')
    const { status } = await scene.api().call('POST', path, { body: { decision: 'accept' } })
    assert.equal(status, 200, 'the stored answer')
  })
}
