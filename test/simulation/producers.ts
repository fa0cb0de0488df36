/** Who sends events: applications over HTTP, outside producers over the log, webhook senders. */
import { createHmac } from 'node:crypto'
import type { CloudEvent } from '#kernel/domain/event.ts'
import type { Facts } from './facts.ts'
import type { Random } from './random.ts'
import { WEBHOOK_SECRET } from './services.ts'
import { TYPES } from './subscription-plan.ts'
import { TENANTS, type World } from './world.ts'

export interface Producer {
  /** Makes and sends the next event; resolves when it was accepted or given up. */
  send(tenant?: string): Promise<void>
  /** Sends this very event until it is accepted. */
  publish(tenant: string, event: CloudEvent): Promise<void>
  make(tenant: string, over?: Partial<CloudEvent>): CloudEvent
}

/** Tries before a client gives an event up; it may have been accepted all the same. */
const TRIES_MAX = 12

export function createProducer(world: World, facts: Facts, random: Random): Producer {
  const sent: { tenant: string; event: CloudEvent }[] = []
  let made = 0
  const make = (tenant: string, over: Partial<CloudEvent> = {}): CloudEvent => {
    made += 1
    const subject = `s${random.below(4)}`
    return {
      specversion: '1.0',
      id: `e${made}`,
      source: `/${tenant}/shop`,
      type: random.pick(TYPES),
      subject,
      partitionkey: subject,
      time: new Date(world.clock.now() - ageOf(world, random)).toISOString(),
      datacontenttype: 'application/json',
      data: {
        amount: random.below(100),
        lang: random.pick(['es', 'en']),
        // What a producer claims about lineage means nothing (I10).
        lineage: 'sub/alpha/m_fake',
      },
      ...(random.chance(0.12) ? { dedupkey: `k${random.below(12)}` } : {}),
      ...over,
    }
  }
  const publish = async (tenant: string, event: CloudEvent) => {
    sent.push({ tenant, event })
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      try {
        const call = () => world.call('ingest', doors => doors.publish!(tenant, [event]))
        if (world.faults.strikes('F22', 0.1)) await Promise.any([call(), call()])
        else await call()
        const { source, id } = event
        facts.accepted.push({ tenant, source, id, order: world.history.order() })
        return
      } catch {
        await world.clock.sleep(random.between(50, 800))
      }
    }
  }
  const send = async (tenant: string = random.pick(TENANTS)) => {
    const old = sent.at(-1 - random.below(20))
    if (old && world.faults.strikes('F21', 0.05)) {
      await world.clock.sleep(random.between(0, 6000))
      return publish(old.tenant, old.event)
    }
    const way = random.next()
    if (way < 0.6) return publish(tenant, make(tenant))
    if (way < 0.8) return outside(world, random, { tenant, event: make(tenant) })
    return webhook(world, facts, random, tenant, `d${made++}`)
  }
  return { send, publish, make }
}

function ageOf({ faults }: World, random: Random): number {
  return faults.strikes('F21', 0.08) ? random.between(4000, 60_000) : random.below(200)
}

/** An outside producer appends by itself, and not always something that can be read. */
async function outside(
  world: World,
  random: Random,
  { tenant, event }: { tenant: string; event: CloudEvent },
): Promise<void> {
  const text = world.faults.strikes('F23', 0.15)
    ? random.pick(['{', '{"specversion":"0.3"}', '\u0000', JSON.stringify({ ...event, id: '' })])
    : JSON.stringify(event)
  const record = {
    topic: `ingress.ext.${tenant}`,
    key: `${event.subject}`,
    value: Buffer.from(text),
    headers: { 'content-type': 'application/cloudevents+json' },
  }
  const times = world.faults.strikes('F6', 0.1) ? 2 : 1
  for (let n = 0; n < times; n++) world.log.prepareAppend([record])()
}

async function webhook(
  world: World,
  facts: Facts,
  random: Random,
  tenant: string,
  id: string,
): Promise<void> {
  const isForged = random.chance(0.15)
  const body = Buffer.from(JSON.stringify({ amount: random.below(100), lang: 'en' }))
  const sign = () => {
    const seconds = Math.floor(world.clock.now() / 1000)
    const key = Buffer.from(isForged ? 'bm9wZQ==' : WEBHOOK_SECRET.slice(6), 'base64')
    const mac = createHmac('sha256', key).update(`${id}.${seconds}.`).update(body)
    return {
      'webhook-id': [id],
      'webhook-timestamp': [String(seconds)],
      'webhook-signature': [`v1,${mac.digest('base64')}`],
    }
  }
  let headers = sign()
  const isReplayed = random.chance(0.2)
  for (let tries = 0, accepted = 0; tries < TRIES_MAX && accepted < (isReplayed ? 2 : 1); tries++) {
    try {
      const event = await world.call('ingest', d => d.webhook!({ tenant, headers, body }))
      if (isForged) facts.forged.push({ tenant, id, wasAccepted: true })
      facts.accepted.push({ tenant, source: event.source, id, order: world.history.order() })
      accepted += 1
    } catch {
      if (isForged && tries > 1) return void facts.forged.push({ tenant, id, wasAccepted: false })
      await world.clock.sleep(random.between(50, 800))
      headers = sign()
    }
  }
}
