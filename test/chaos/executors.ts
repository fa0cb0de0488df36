/** Executors: claim, work for a moment, complete; patient with replicas that come and go. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '#test/support/cluster.ts'
import type { Ledger } from './ledger.ts'

export interface Executors {
  stop(): Promise<void>
  /** Calls that were refused, by status; 0 where nothing came back. */
  refusals(): Record<string, number>
}

interface Item {
  message: { id: string; subscription: { id: string } | null; events: { id: string }[] }
  lease: { token: number; handle: string }
}

const LEASE_MS = 4000
const WAIT_MS = 500
const CLAIM_MAX = 20
const CALL_TIMEOUT_MS = 8000
const PAUSE_MS = 300
/** Tries to complete: enough for a lease to end meanwhile. */
const TRIES_MAX = 30

interface Self {
  cluster: Cluster
  ledger: Ledger
  isStopped: boolean
  refusals: Record<string, number>
}

/** Two for every agent. */
export function startExecutors(cluster: Cluster, ledger: Ledger, agents: string[]): Executors {
  const self: Self = { cluster, ledger, isStopped: false, refusals: {} }
  const working = agents.flatMap(agent => [work(self, agent), work(self, agent)])
  return {
    refusals: () => self.refusals,
    async stop() {
      self.isStopped = true
      await Promise.all(working)
    },
  }
}

async function work(self: Self, agent: string): Promise<void> {
  while (!self.isStopped) {
    const items = await claim(self, agent)
    await Promise.all(items.map(item => complete(self, item)))
  }
}

async function claim(self: Self, agent: string): Promise<Item[]> {
  const { cluster, ledger } = self
  const body = { executor: 'chaos', leaseMs: LEASE_MS, waitMs: WAIT_MS, max: CLAIM_MAX }
  const sentAt = performance.now()
  const options = { body, timeoutMs: CALL_TIMEOUT_MS }
  const answer = await cluster
    .call('mailbox-dispatcher', `/v1/mailboxes/${agent}/claim`, options)
    .catch(() => undefined)
  if (answer?.status !== 200) {
    refuse(self, 'claim', answer?.status)
    await sleep(PAUSE_MS)
    return []
  }
  const { items } = answer.body as { items: Item[] }
  if (items.length === 0) return []
  const tokens = items.map(({ lease }) => lease.token)
  ledger.claim({ agent, sentAt, answeredAt: performance.now(), tokens })
  for (const { message } of items) {
    const { id, subscription, events } = message
    const eventIds = events.map(event => event.id)
    ledger.receive({ id, subscription: subscription?.id ?? '', eventIds }, Date.now())
  }
  return items
}

async function complete(self: Self, { message, lease }: Item): Promise<void> {
  const { cluster, ledger } = self
  const body = { handle: lease.handle, result: { ok: true, stopReason: 'final-message' } }
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const answer = await cluster
      .call('mailbox-dispatcher', `/v1/messages/${message.id}/complete`, {
        body,
        timeoutMs: CALL_TIMEOUT_MS,
      })
      .catch(() => undefined)
    if (answer?.status === 200) return ledger.complete(message.id, lease.token)
    refuse(self, 'complete', answer?.status)
    // Somebody else holds it, or nobody does: the message will come again.
    if (answer?.status === 409) return
    await sleep(PAUSE_MS)
  }
}

function refuse({ refusals }: Self, what: string, status = 0): void {
  const name = `${what} ${status}`
  refusals[name] = (refusals[name] ?? 0) + 1
}
