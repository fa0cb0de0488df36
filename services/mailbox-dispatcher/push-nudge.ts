/**
 * Tells executors that asked for it (`push.url` of their agent) that a message waits, so that they
 * claim at once instead of holding a claim open. A nudge carries no event and no authority: whoever
 * reads it still needs a key to claim, and one that is lost costs only time. So there is no retry.
 */
import { tenantKey } from '#kernel/domain/ids.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { HttpSender } from '#kernel/ports/http-sender.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { MailboxTransition } from '#schemas/generated/records.ts'

/** Least time between two nudges of one agent, ms. */
const PAUSE_MS = 1000
/** Longest time that one nudge may take, ms. */
const TIMEOUT_MS = 2000
/** Least time between two log lines about failures, ms. */
const LOG_EVERY_MS = 60_000
/** Agents nudged at once; more than that get none and find their messages when they claim. */
const AGENTS_MAX = 1000

export interface PushNudgeWorld {
  sender: HttpSender
  directory: Pick<Directory, 'agent'>
  clock: Clock
  logger: Logger
  /** Told of every nudge. */
  count(outcome: 'sent' | 'failed' | 'skipped'): void
}

export interface PushNudge {
  /** Nudges the agents of messages that these outputs queue; returns at once, never throws. */
  note(outputs: readonly Output[]): void
  /** Begins no further nudge; resolves when none is under way. */
  stop(): Promise<void>
}

interface Mailbox {
  tenant: string
  agent: string
}

interface Self extends PushNudgeWorld {
  /** Agents of the last second; true where more was queued since their nudge. */
  busy: Map<string, boolean>
  running: Set<Promise<void>>
  failures: number
  loggedAt: number
  stopping: AbortController
}

export function createPushNudge(world: PushNudgeWorld): PushNudge {
  const self: Self = {
    ...world,
    busy: new Map(),
    running: new Set(),
    failures: 0,
    loggedAt: Number.NEGATIVE_INFINITY,
    stopping: new AbortController(),
  }
  return {
    note(outputs) {
      for (const mailbox of queuedIn(outputs)) ask(self, mailbox)
    },
    async stop() {
      self.stopping.abort()
      await Promise.all(self.running)
    },
  }
}

function queuedIn(outputs: readonly Output[]): Mailbox[] {
  return outputs
    .filter(({ topic, value }) => topic === 'mailbox.state' && value !== null)
    .map(({ value }) => value as MailboxTransition)
    .filter(({ state }) => state === 'queued')
}

/** The address to nudge; none while a person has stopped the agent, since it may not claim. */
function addressOf(self: Self, { tenant, agent }: Mailbox): string | undefined {
  const found = self.directory.agent(tenant, agent)
  return found?.stopped ? undefined : found?.push?.url
}

function ask(self: Self, mailbox: Mailbox): void {
  if (self.stopping.signal.aborted || !addressOf(self, mailbox)) return
  const key = tenantKey(mailbox.tenant, mailbox.agent)
  if (self.busy.has(key)) {
    self.busy.set(key, true)
    return
  }
  if (self.busy.size >= AGENTS_MAX) {
    self.count('skipped')
    return
  }
  self.busy.set(key, false)
  const running = nudgeWhileAsked(self, mailbox, key).finally(() => {
    self.running.delete(running)
  })
  self.running.add(running)
}

/** What is queued during the pause shares the nudge at its end: none is needed for each. */
async function nudgeWhileAsked(self: Self, mailbox: Mailbox, key: string): Promise<void> {
  const { signal } = self.stopping
  for (let isAsked = true; isAsked && !signal.aborted; isAsked = self.busy.get(key) === true) {
    self.busy.set(key, false)
    await nudge(self, mailbox)
    await self.clock.sleep(PAUSE_MS, signal).catch(() => {})
  }
  // In one step with the last look at it, so that nobody's asking falls between.
  self.busy.delete(key)
}

async function nudge(self: Self, { tenant, agent }: Mailbox): Promise<void> {
  const url = addressOf(self, { tenant, agent })
  if (!url) return
  const failure = await self.sender
    .send({
      ...{ url, method: 'POST', timeoutMs: TIMEOUT_MS },
      headers: { 'content-type': 'application/json', 'user-agent': 'ambit' },
      body: Buffer.from(JSON.stringify({ agent, tenant })),
    })
    .then(({ status }) => (status >= 200 && status < 300 ? undefined : `status ${status}`))
    .catch((error: Error) => error.message)
  self.count(failure === undefined ? 'sent' : 'failed')
  if (failure !== undefined) logFailure(self, { tenant, agent, failure })
}

/** One line a minute with how many there were: a receiver that is away must not flood the log. */
function logFailure(self: Self, last: Mailbox & { failure: string }): void {
  self.failures += 1
  const now = self.clock.now()
  if (now - self.loggedAt < LOG_EVERY_MS) return
  self.logger.warn({ failures: self.failures, ...last }, 'agents could not be nudged')
  self.failures = 0
  self.loggedAt = now
}
