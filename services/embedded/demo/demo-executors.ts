/**
 * A small executor that stands in for agents: it completes every message, and the planner also
 * announces its plan, which its own subscription would match: the cycle guard stops that.
 */
import type { Client } from '#services/client/create-client.ts'
import type { Handler } from '#services/client/handle-message.ts'

const complete: Handler = async () => ({ ok: true, stopReason: 'final-message', output: 'done' })

const planAgain: Handler = async (message, { emit }) => {
  await emit({
    id: `plan-of-${message.id}`,
    source: '/agents/planner',
    type: 'com.team.plan.changed',
    data: { task: 'Planned again' },
  })
  return { ok: true, stopReason: 'final-message', output: 'planned' }
}

const HANDLERS: Record<string, Handler> = {
  'support-triage': complete,
  'on-call': complete,
  planner: planAgain,
}

/** Works all demo mailboxes until the signal aborts. */
export async function runDemoExecutors(client: Client, signal: AbortSignal): Promise<void> {
  const working = Object.entries(HANDLERS).map(([agent, handler]) =>
    client.work(agent, handler, { executor: 'demo', signal, leaseMs: 10_000 }),
  )
  await Promise.allSettled(working)
}
