/** The demo's outside world: a shop that calls a webhook, and producers of CloudEvents. */
import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '#services/client/create-client.ts'
import { DEMO_WEBHOOK, DEMO_WEBHOOK_SECRET } from './demo-tenant.ts'
import { writeTicket } from './demo-tickets.ts'

export interface DemoWorld {
  client: Client
  url: string
  /** The folder that the ticket server lists. */
  tickets: string
  signal: AbortSignal
}

/** Ms between two rounds of the demo's story after the first. */
const ROUND_EVERY_MS = 30_000

/** A storm suspends its subscription and tells a person: one in each round would bury the rest. */
const STORM_EVERY_ROUNDS = 10

/** Tells the story once, then again at every round until the signal aborts. */
export async function runDemoProducers(world: DemoWorld): Promise<void> {
  for (let round = 1; !world.signal.aborted; round++) {
    const run = `${Date.now().toString(36)}`
    await tellStory(world, run, round).catch(() => {
      // The host is stopping, or busy: the next round tells it again.
    })
    await delay(ROUND_EVERY_MS, undefined, { signal: world.signal }).catch(() => {})
  }
}

async function tellStory(world: DemoWorld, run: string, round: number): Promise<void> {
  const { client, signal, tickets } = world
  const order = { order: `A-${1000 + round}`, total: 149.5, text: 'The cup arrived broken.' }
  await callWebhook(world, `msg_${run}`, order)
  // The shop retries its delivery: one message, one repeat.
  await callWebhook(world, `msg_${run}`, order)
  await delay(500, undefined, { signal })
  await client.publish({ ...shopEvent(`${run}-cheap`), data: { ...order, total: 12 } })
  const alert = { source: '/ops/monitor', type: 'com.ops.alert', subject: 'checkout' }
  for (let n = 1; n <= 4; n++) {
    await client.publish({ ...alert, id: `${run}-alert-${n}`, data: { errors: 10 * n } })
    await delay(250, undefined, { signal })
  }
  const plan = { source: '/team/board', type: 'com.team.plan.changed' }
  await client.publish({ ...plan, id: `${run}-plan`, data: { task: 'Ship it' } })
  // Another event about the same occurrence: a duplicate.
  await client.publish({ ...plan, id: `${run}-plan-a`, dedupkey: `${run}-same`, data: {} })
  await client.publish({ ...plan, id: `${run}-plan-b`, dedupkey: `${run}-same`, data: {} })
  await delay(500, undefined, { signal })
  if (round % STORM_EVERY_ROUNDS === 1) await storm(client, run)
  // By now the folder is observed: what was there before is nothing new.
  await delay(3000, undefined, { signal })
  writeTicket(tickets, run, round)
}

/** More spikes than the subscription allows; it stays suspended, for a person to see and resume. */
async function storm(client: Client, run: string): Promise<void> {
  await resumeSensor(client)
  const spike = { source: '/plant/7', type: 'com.plant.sensor.spike' }
  for (let n = 1; n <= 8; n++) {
    await client.publish({ ...spike, id: `${run}-spike-${n}`, data: { celsius: 80 + n } })
  }
}

/** The last storm suspended it; a person would resume it, here the demo does. */
async function resumeSensor(client: Client): Promise<void> {
  for await (const { id, name, state } of client.subscriptions.list.items({ state: 'suspended' })) {
    if (name === 'chatty-sensor' && state.operation === 'suspended') {
      await client.subscriptions.resume(id, 'the demo goes on')
    }
  }
}

function shopEvent(id: string) {
  return { id, source: '/webhooks/shop', type: 'com.shop.refund.requested' }
}

/** A delivery signed as Standard Webhooks says. */
async function callWebhook({ url, signal }: DemoWorld, id: string, body: object): Promise<void> {
  const text = JSON.stringify(body)
  const timestamp = Math.floor(Date.now() / 1000)
  const secret = Buffer.from(DEMO_WEBHOOK_SECRET.slice('whsec_'.length), 'base64')
  const mac = createHmac('sha256', secret).update(`${id}.${timestamp}.${text}`).digest('base64')
  await fetch(`${url}/v1/webhooks/${DEMO_WEBHOOK}`, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${mac}`,
    },
    body: text,
  })
}
