/**
 * What the demo seeds: three agents, a signed webhook source, and subscriptions that together
 * show a delivery, a duplicate, a cooldown group, a cycle and a storm. Applied by name, so a
 * restart keeps what is there.
 */
import type { Client } from '#services/client/create-client.ts'
import { DEMO_CALENDAR, DEMO_CATEGORY, REMIND_BEFORE_MS } from './demo-calendar.ts'
import { DEMO_TICKETS } from './demo-tickets.ts'

/** Secret of the demo's webhook source; it protects nothing but the demo. */
export const DEMO_WEBHOOK_SECRET = 'whsec_YW1iaXQtZGVtby1zZWNyZXQtMDEyMzQ1Njc4OQ=='
export const DEMO_WEBHOOK = 'shop'

const AGENTS = [
  { id: 'support-triage', name: 'Support triage' },
  { id: 'on-call', name: 'On call' },
  { id: 'planner', name: 'Planner' },
]

const noStorm = { storm: null }

const SUBSCRIPTIONS = [
  {
    name: 'refund-requests',
    agent: 'support-triage',
    instruction: 'Read the ticket and draft an answer to the refund request.',
    on: { types: ['com.shop.refund.requested'], sources: ['/webhooks/shop'] },
    filters: [{ cel: 'data.total > 100.0' }],
    limits: noStorm,
  },
  {
    name: 'refund-tickets',
    agent: 'support-triage',
    instruction: 'Draft an answer to the customer who wants the money back.',
    observe: {
      connector: DEMO_TICKETS,
      operation: 'list_tickets',
      everyMs: 2000,
      itemsPointer: '/items',
      identityPointer: '/id',
      watch: 'new' as const,
    },
    condition: { criterion: 'the customer asks for a refund' },
    limits: noStorm,
  },
  {
    name: 'service-alerts',
    agent: 'on-call',
    instruction: 'Look at these alerts together and say what is wrong.',
    on: { types: ['com.ops.alert'] },
    limits: {
      ...noStorm,
      cooldownMs: 6000,
      cooldownRule: 'group' as const,
      group: { by: ['subject'], waitMs: 0, intervalMs: 6000, max: 20 },
    },
  },
  {
    name: 'plan-again',
    agent: 'planner',
    instruction: 'Update the plan after a change, and announce the new plan.',
    on: { types: ['com.team.plan.changed'] },
    limits: noStorm,
  },
  {
    name: 'chatty-sensor',
    agent: 'on-call',
    instruction: 'Check the sensor.',
    on: { types: ['com.plant.sensor.spike'] },
    limits: { storm: { windowMs: 60_000, max: 5 } },
  },
  {
    name: 'every-minute',
    agent: 'on-call',
    instruction: 'Look whether everything is well.',
    schedule: { dtstart: '2026-01-01T00:00:00', tzid: 'UTC', rrule: 'FREQ=MINUTELY' },
    limits: noStorm,
  },
  {
    name: 'meeting-reminder',
    agent: 'planner',
    instruction: 'Gather what the meeting needs.',
    schedule: {
      anchor: {
        calendar: DEMO_CALENDAR,
        query: { category: DEMO_CATEGORY },
        edge: 'start' as const,
        offsetMs: -REMIND_BEFORE_MS,
      },
    },
    limits: noStorm,
  },
]

/** Creates or updates the demo's objects; what a person added is left alone. */
export async function seedDemo(client: Client): Promise<void> {
  for (const { id, name } of AGENTS) await client.agents.put(id, { name, maxConcurrentLeases: 4 })
  await client.sources.put(DEMO_WEBHOOK, {
    kind: 'webhook',
    verification: { scheme: 'standard-webhooks', secret: DEMO_WEBHOOK_SECRET },
    map: { type: '"com.shop.refund.requested"', subject: 'body.order' },
  })
  await client.connectors.put(DEMO_TICKETS, {
    transport: 'stdio',
    command: DEMO_TICKETS,
    allow: [{ operation: 'list_tickets', maxItems: 100, maxBytes: 524_288, timeoutMs: 10_000 }],
  })
  const subscriptions = SUBSCRIPTIONS.map(each => ({ ...each, owner: 'user:demo' }))
  await client.subscriptions.apply(subscriptions, { managedBy: 'demo' })
  await resumeOwn(client)
}

/** Without the demo its ticket server is away, and what depends on it was suspended meanwhile. */
async function resumeOwn(client: Client): Promise<void> {
  for await (const { id, managedBy } of client.subscriptions.list.items({ state: 'suspended' })) {
    if (managedBy === 'demo') await client.subscriptions.resume(id, 'the demo goes on')
  }
}
