/**
 * Trying a condition changes nothing but usage: everything that the host holds, topics and store,
 * is read before and after, and compared.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backtest } from '#services/client/backtest-calls.ts'
import { createApi, eventually } from '#test/support/api-caller.ts'
import { type BackboneKind, type HostProcess, startHost } from '#test/support/host-process.ts'
import { skipWithoutInfra } from '#test/support/live-infra.ts'
import { changesBetween, dumpState, type StateDump } from '#test/support/state-dump.ts'
import { createScene, type Scene } from './suite/scene.ts'

const CONDITION = { criterion: 'the customer asks for a refund' }
/** What trials are made of, and what they cost. */
const ALLOWED = /^topic (trials|trials\.results|usage) /
const TEXTS = ['I would like a refund, please.', 'My parcel has not arrived.', 'A refund, now.']

async function tryEverything(s: Scene, subscription: string): Promise<void> {
  const eventOf = (text: string, n: number) => {
    return {
      specversion: '1.0',
      id: `try-${n}`,
      source: s.source,
      type: 'e2e.happened',
      data: { text },
    }
  }
  const events = TEXTS.map(text => `${text} Thank you.`).map(eventOf)
  const draft = { name: 'draft', agent: s.agent, instruction: 'Look.', on: { sources: [s.source] } }
  await s.api.ok('POST', `/v1/subscriptions/${subscription}/test`, { events })
  await s.api.ok('POST', '/v1/test', { subscription: { ...draft, condition: CONDITION }, events })
  for (const what of [{ subscription }, { draft: { ...draft, condition: CONDITION } }]) {
    const asked = await s.api.ok<Backtest>('POST', '/v1/backtests', { ...what, hours: 1 })
    assert.equal(asked.estimate.matched, TEXTS.length)
    await s.api.ok('POST', `/v1/backtests/${asked.id}/confirm`, {})
    await eventually('the backtest', async () => {
      const found = await s.api.ok<Backtest>('GET', `/v1/backtests/${asked.id}`)
      return found.state === 'done' ? found : `is ${found.state}`
    })
  }
}

function leavesNothing(kind: BackboneKind, skip: string | false = false): void {
  it(`on the ${kind} host`, { skip }, async () => {
    const host = await startHost(kind)
    try {
      const s = createScene(createApi(host.url, host.key), 'leave')
      const limits = { cooldownMs: 3_600_000, cooldownRule: 'drop' } as const
      const { id } = await s.subscribe(limits, { condition: CONDITION })
      for (const text of TEXTS) await s.send({ data: { text } })
      const fates = await eventually('all fates', async () => {
        const made = await s.api.decisions({ subscription: id })
        const final = made.filter(({ fate }) => fate !== 'held')
        return final.length === TEXTS.length ? final : `${final.length} fates`
      })
      const delivered = fates.filter(({ fate }) => fate === 'delivered')
      // A fate is known before its message is in the mailbox, and two readings may fall between.
      await eventually('all messages', async () => {
        type Messages = { items: object[] }
        const { items } = await s.api.ok<Messages>('GET', `/v1/mailboxes/${s.agent}/messages`)
        return items.length === delivered.length ? items : `${items.length} messages`
      })
      const before = await atRest(host)
      await tryEverything(s, id)
      const after = await atRest(host)
      const all = changesBetween(before, after)
      assert.ok(all.some(line => line.startsWith('topic trials.results ')))
      assert.deepEqual(
        all.filter(line => !ALLOWED.test(line)),
        [],
      )
    } finally {
      await host.stop()
    }
  })
}

/**
 * What a host holds while nothing is under way. The embedded one has its file to itself and leaves
 * for it; of the distributed one two readings in a row are the same, for a restart would append
 * again what it finds in outboxes.
 */
async function atRest(host: HostProcess): Promise<StateDump> {
  if (host.kind === 'embedded') {
    await host.terminate()
    const dump = await dumpState(host)
    await host.restart()
    return dump
  }
  let last = await dumpState(host)
  return eventually('no change', async () => {
    const now = await dumpState(host)
    const moved = changesBetween(last, now)
    last = now
    return moved.length === 0 ? now : `changed: ${moved[0]}`
  })
}

describe('trying a condition changes nothing but usage', () => {
  leavesNothing('embedded')
  leavesNothing('distributed', skipWithoutInfra)
})
