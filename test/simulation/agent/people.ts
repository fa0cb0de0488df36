/** People who talk, answer questions, stop the agent for a while, and send events that wake it. */
import type { CloudEvent } from '#kernel/domain/event.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { ChangeOrder } from '#kernel/host/registry-client.ts'
import { surely } from '../editors.ts'
import type { Random } from '../random.ts'
import { type AgentSim, ASSISTANT, TENANT, WATCHER } from './agent-sim.ts'

const ANA: Principal = { tenant: TENANT, kind: 'person', id: 'ana', roles: ['admin'] }

const SESSIONS = ['s1', 's2', 's3']

/** What people ask for, the frequent first. */
const TASKS = [
  ...['grant 3', 'grant 2', 'ticket', 'both', 'look; grant 2', 'mixed; grant 2', 'note; ticket'],
  ...['note', 'notes', 'look; note', 'list', '', 'refused 2', 'note; refused 1; look'],
  ...['pay', 'look; pay', 'note; pay', 'look; mail', 'mail'],
  ...['flood', 'look; look; look; look; look; look; look; look', 'bad; note', 'forbidden'],
  ...['grant 4; look', 'ticket; ticket', 'both; look; note'],
]

/** Asks until there is an answer. */
async function insist<T>(
  { world, facts }: AgentSim,
  what: string,
  ask: () => Promise<T>,
): Promise<T | undefined> {
  for (let tries = 0; tries < 60; tries += 1) {
    try {
      return await ask()
    } catch (error) {
      if (!isAmbitError(error)) facts.surprises.push(`${what}: ${String(error)}`)
      // A stopped agent takes no turns, and a used-up budget has to wait.
      const mayPass = isAmbitError(error) && (error.retry !== 'never' || error.code === 'conflict')
      if (!mayPass) return undefined
      await world.clock.sleep(world.random.between(100, 900))
    }
  }
  return undefined
}

/** Agents, the subscriptions that wake them, and who may what. */
export async function setUpAgents(sim: AgentSim): Promise<void> {
  const agent = { maxAttempts: 40, backoffMs: 60, capabilities: { selfSubscribe: false } }
  for (const [id, maxConcurrentLeases] of [
    [ASSISTANT, 6],
    [WATCHER, 3],
  ] as const) {
    await surely(sim, TENANT, {
      ...{ kind: 'agent', id, action: 'put', body: { ...agent, maxConcurrentLeases } },
    })
  }
  await surely(sim, TENANT, { kind: 'policy', id: 'policy', action: 'put', body: { zone: 'UTC' } })
  const subscription = (id: string, body: object) =>
    surely(sim, TENANT, { kind: 'subscription', id, action: 'create', body: { name: id, ...body } })
  const owner = 'user:ana'
  await Promise.all([
    subscription('orders', {
      ...{ agent: ASSISTANT, owner, instruction: 'Handle order: look; grant 2; note' },
      on: { types: ['order.created'] },
      limits: { budget: { activationsPerDay: 6, tokensPerDay: 900 } },
    }),
    subscription('runs', {
      ...{ agent: WATCHER, owner, instruction: 'Handle run: note' },
      on: { types: ['platform.run.finished'] },
      filters: [{ exact: { 'data.agent': ASSISTANT } }],
      limits: { budget: { activationsPerDay: 6 } },
    }),
    // Back to whom it came from: the cycle that must not close.
    subscription('back', {
      ...{ agent: ASSISTANT, owner, instruction: 'Handle back: note' },
      on: { types: ['platform.run.finished'] },
      filters: [{ exact: { 'data.agent': WATCHER } }],
    }),
  ])
}

/** Everybody at once; resolves when all turns and events were accepted. */
export async function liveTogether(sim: AgentSim, random: Random, turns: number): Promise<void> {
  const perSession = Math.ceil(turns / SESSIONS.length)
  const events = random.between(1, 4)
  await Promise.all([
    ...SESSIONS.map(session => talk(sim, { session, turns: perSession }, random.fork(session))),
    sendOrders(sim, random.fork('orders'), events),
    meddle(sim, random.fork('meddle')),
  ])
}

async function talk(
  sim: AgentSim,
  { session, turns }: { session: string; turns: number },
  random: Random,
): Promise<void> {
  const { world, facts } = sim
  for (let n = 1; n <= turns; n += 1) {
    await world.clock.sleep(random.pick([20, 300, 1500, 4000]) * (0.5 + random.next()))
    const huge = random.chance(0.03) ? ` ${'long '.repeat(6000)}` : ''
    const text = `Task ${session}x${n}: ${random.pick(TASKS)}\n${huge}`
    const body = { session, kind: 'turn', input: { text }, requestId: `${session}/${n}` } as const
    const accepted = await insist(sim, 'turn', () =>
      world.call('dispatcher', doors => doors.mailbox!.continueSession(ANA, ASSISTANT, body)),
    )
    if (accepted) facts.turns.set(accepted.id, session)
  }
}

async function sendOrders(sim: AgentSim, random: Random, count: number): Promise<void> {
  const { world } = sim
  for (let n = 1; n <= count; n += 1) {
    await world.clock.sleep(random.between(200, 6000))
    const event: CloudEvent = {
      specversion: '1.0',
      ...{ id: `o${n}`, source: '/acme/shop', type: 'order.created' },
      ...{ datacontenttype: 'application/json', data: { amount: n } },
      time: new Date(world.clock.now()).toISOString(),
    }
    await insist(sim, 'event', () => world.call('ingest', doors => doors.publish!(TENANT, [event])))
  }
}

/** The agent is stopped for a while, its subscription paused, or everybody's budget used up. */
async function meddle(sim: AgentSim, random: Random): Promise<void> {
  const { world } = sim
  const times = random.between(0, 3)
  for (let n = 0; n < times; n += 1) {
    await world.clock.sleep(random.between(500, 9000))
    const kind = random.pick(['stop', 'pause', 'budget'] as const)
    const orders = MEDDLING[kind]
    await surely(sim, TENANT, orders.begin)
    await world.clock.sleep(random.between(200, 2500))
    await surely(sim, TENANT, orders.end)
  }
}

const policy = { kind: 'policy', id: 'policy', action: 'put' } as const
const MEDDLING: Record<'stop' | 'pause' | 'budget', { begin: ChangeOrder; end: ChangeOrder }> = {
  stop: {
    begin: { kind: 'agent', id: ASSISTANT, action: 'stop', reason: 'test' },
    end: { kind: 'agent', id: ASSISTANT, action: 'start' },
  },
  pause: {
    begin: { kind: 'subscription', id: 'orders', action: 'pause', body: null },
    end: { kind: 'subscription', id: 'orders', action: 'resume' },
  },
  budget: {
    begin: { ...policy, body: { zone: 'UTC', budgets: { tenant: { tokensPerDay: 100 } } } },
    end: { ...policy, body: { zone: 'UTC' } },
  },
}

/** Answers every question some time after it was asked, until the world is over. */
export async function answerQuestions(
  sim: AgentSim,
  random: Random,
  isOver: () => boolean,
): Promise<void> {
  const { world } = sim
  const seen = new Set<string>()
  while (!isOver()) {
    await world.clock.sleep(300)
    for (const { value } of world.history.values('notices', 'notice')) {
      if (value.kind !== 'approval' || seen.has(value.id)) continue
      seen.add(value.id)
      const details = value.details as { approvalId: string; question: string }
      void answerOne(sim, random, details)
    }
  }
}

async function answerOne(
  sim: AgentSim,
  random: Random,
  { approvalId, question }: { approvalId: string; question: string },
): Promise<void> {
  const { world, facts } = sim
  await world.clock.sleep(world.faults.isActive() ? random.between(50, 5000) : 20)
  const decision = random.pick(['accept', 'accept', 'edit', 'respond', 'ignore'] as const)
  const shown = /run with (\{.*\})\?/.exec(question)?.[1] ?? '{}'
  const args = { to: `edited-${random.hex().slice(0, 8)}` }
  if (decision === 'accept') facts.approved.add(String(JSON.parse(shown).to))
  if (decision === 'edit') facts.approved.add(args.to)
  const words =
    decision === 'edit' ? { args } : decision === 'respond' ? { text: 'Rather not' } : {}
  await insist(sim, 'answer', () =>
    world.call('dispatcher', doors =>
      doors.mailbox!.answerApproval(ANA, approvalId, { decision, ...words }),
    ),
  )
}
