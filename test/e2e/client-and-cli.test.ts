/** The client and the command line against the embedded host, from outside. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Message } from '#services/client/api.ts'
import { type Client, createClient } from '#services/client/create-client.ts'
import type { WorkEvent } from '#services/client/handle-message.ts'
import { type CliCall, callCli } from '#test/support/cli-call.ts'
import { type HostProcess, startHost } from '#test/support/host-process.ts'

let host: HostProcess
let client: Client
before(async () => {
  host = await startHost('embedded')
  client = createClient({ url: host.url, key: host.key, attemptsMax: 10 })
})
after(() => host?.stop())

const FILE = `
kind: Agent
name: worker
spec: { maxConcurrentLeases: 4, backoffMs: 10 }
---
kind: Subscription
name: everything
spec: { agent: worker, instruction: Look at it., on: { types: ["e2e.*"] } }
`

const ambit = (...argv: string[]): Promise<CliCall> =>
  callCli([...argv, '--url', host.url, '--key', host.key], { files: { 'a.yaml': FILE } })

describe('ambit and the client, against a host', () => {
  it('apply is done once, and its own export changes nothing', async () => {
    assert.match((await ambit('apply', '-f', 'a.yaml')).stdout, /create +subscription/)
    assert.doesNotMatch((await ambit('apply', '-f', 'a.yaml')).stdout, /create|update/)
    const exported = await ambit('export')
    const again = await callCli(
      ['apply', '-f', '-', '--dry-run', '--url', host.url, '--key', host.key],
      { files: { '-': exported.stdout } },
    )
    assert.equal(again.exit, 0)
    assert.doesNotMatch(again.stdout, /create|update|delete/)
  })

  // The host dies while handlers run: leases, retries and settlements must bring every message to
  // its end once it is back. A message may be worked on twice, and is settled once.
  it('an executor settles every message, also when the host is killed in between', async () => {
    const events = Array.from({ length: 12 }, (_, n) => ({
      source: '/e2e',
      type: 'e2e.n',
      id: `${n}`,
    }))
    const stop = new AbortController()
    const worked = new Map<string, number>()
    const settled = new Set<string>()
    const done = Promise.withResolvers<void>()
    const onEvent = (event: WorkEvent) => {
      if (event.kind !== 'settled' || event.state !== 'done') return
      if (settled.add(event.messageId).size === events.length) done.resolve()
    }
    const handler = async ({ events: [event] }: Message, { attempt }: { attempt: number }) => {
      const id = event?.id ?? ''
      worked.set(id, (worked.get(id) ?? 0) + 1)
      if (id === '3' && attempt === 1) throw new Error('not yet')
      if (id === '5' && worked.get('5') === 1) await host.kill9().then(() => host.restart())
      return { ok: true, stopReason: 'final-message', output: id }
    }
    const options = { executor: 'e2e', leaseMs: 3000, concurrency: 4, waitMs: 1000 }
    const working = client.work('worker', handler, { ...options, onEvent, signal: stop.signal })
    await client.publish(events)
    await done.promise
    stop.abort()
    await working
    assert.equal(worked.size, events.length)
    const kept = await Array.fromAsync(client.mailboxes.messages('worker').items())
    assert.deepEqual(new Set(kept.map(({ state }) => state)), new Set(['done']))
    assert.equal(kept.length, events.length)
  })
})

describe('what happened, from outside', () => {
  it('trace and explain tell the way of an event', async () => {
    const { stdout } = await ambit('trace', '/e2e', '3')
    for (const hop of ['matched', 'decided', 'message', 'leased', 'run']) {
      assert.match(stdout, new RegExp(`ms +${hop}`))
    }
    const [subscription] = (await client.subscriptions.list.page({ agent: 'worker' })).items
    const told = await ambit('explain', '/e2e', '3', subscription?.id ?? '')
    assert.match(told.stdout, /It fired. Fate: delivered/)
  })

  it('the stream shows a decision as it is made, also after the host was restarted', async () => {
    const stop = new AbortController()
    const next = Promise.withResolvers<unknown>()
    let isLost = false
    const onReconnect = () => {
      isLost = true
    }
    const following = (async () => {
      for await (const event of client.stream({ signal: stop.signal, onReconnect })) {
        if (event.type === 'decision' && isLost) next.resolve(event.data.fate)
      }
    })()
    // The stream replays nothing, so events are sent until one of them falls into it.
    await host.kill9()
    await host.restart()
    const sending = setInterval(() => {
      client.publish({ source: '/e2e', type: 'e2e.again' }).catch(next.reject)
    }, 200)
    try {
      assert.equal(await next.promise, 'delivered')
    } finally {
      clearInterval(sending)
      stop.abort()
      await following
    }
  })

  it('doctor finds nothing wrong', async () => {
    const { exit, stdout } = await ambit('doctor')
    assert.equal(exit, 0, stdout)
  })
})

describe('trying a condition and what it costs, from outside', () => {
  const SHOP = `
kind: Agent
name: clerk
spec: {}
---
kind: Subscription
name: refunds
spec:
  agent: clerk
  instruction: Draft an answer.
  on: { types: ["shop.ticket"] }
  condition: { criterion: the customer asks for a refund }
---
kind: Subscription
name: standup
spec:
  agent: clerk
  instruction: Say what is open.
  schedule: { dtstart: "2026-01-01T00:00:00", tzid: UTC, rrule: "FREQ=HOURLY" }
`
  const texts = ['I would like a refund, please.', 'Thank you, all is well.']
  const tickets = texts.map((text, n) => ({
    ...{
      specversion: '1.0' as const,
      source: '/shop',
      type: 'shop.ticket',
      id: `t${n}`,
      data: { text },
    },
  }))
  const files = { 'shop.yaml': SHOP, 'tickets.json': JSON.stringify(tickets) }
  const shop = (...argv: string[]) =>
    callCli([...argv, '--url', host.url, '--key', host.key], { files })
  const idOf = async (name: string) => {
    const all = await Array.fromAsync(client.subscriptions.list.items({ agent: 'clerk' }))
    return all.find(each => each.name === name)?.id ?? assert.fail(`no subscription ${name}`)
  }
  before(async () => {
    const { exit, stderr } = await shop('apply', '-f', 'shop.yaml')
    assert.equal(exit, 0, stderr)
  })

  it('test says what would become of events, and wakes nobody', async () => {
    const { exit, stdout, stderr } = await shop('test', await idOf('refunds'), '-e', 'tickets.json')
    assert.equal(exit, 0, stderr)
    assert.match(stdout, /^t0 +matched [\d.]+ \(offline\) +delivered .* I would like a refund/m)
    assert.match(stdout, /^t1 +not-matched [\d.]+ \(offline\) +rejected +not-matched/m)
    assert.match(stderr, /Nobody was woken. Judging took nothing: no model is asked\./)
    assert.deepEqual(await Array.fromAsync(client.mailboxes.messages('clerk').items()), [])
  })

  it('backtest estimates, and with --yes says how often it would have fired', async () => {
    await client.publish(tickets)
    const id = await idOf('refunds')
    const estimated = await shop('backtest', id, '--hours', '1')
    assert.match(
      estimated.stdout,
      /in the last 1 h, 2 of them pass the filters\. Judging takes noth/,
    )
    const { exit, stdout, stderr } = await shop('backtest', id, '--hours', '1', '--yes')
    assert.equal(exit, 0, stderr)
    assert.match(stdout, /^It would have fired once\. Judging took nothing/m)
    const refused = await shop('backtest', id, '--hours', '1000')
    assert.equal(refused.exit, 1)
    assert.match(refused.stderr, /at +\/hours/)
  })

  it('usage and schedule name the subscriptions they speak of', async () => {
    const used = await shop('usage')
    assert.match(used.stdout, /^everything +s_\w+ +\d+ /m)
    const id = await idOf('standup')
    const comes = await shop('schedule', '--limit', '3')
    const row = new RegExp(`^[\\dTZ:-]+ +coming +standup +clerk +- +- +${id}$`, 'gm')
    assert.equal(comes.stdout.match(row)?.length, 3)
    assert.match(comes.stderr, /There are more/)
  })
})
