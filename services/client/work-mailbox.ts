/** The executor's loop: claim with long polls, keep leases, settle, drain. */
import type { ClaimedMessage } from './api.ts'
import { isClientError, isTransient } from './client-error.ts'
import { type Handler, handleMessage, type WorkEvent, type Worker } from './handle-message.ts'
import type { Mailboxes } from './mailbox-calls.ts'
import type { Publish } from './publish-events.ts'
import type { Transport } from './transport.ts'

export interface WorkOptions {
  /** Name of this executor, shown to people. */
  executor: string
  /** Lease of each message, renewed at a third of it. Default 30 000. */
  leaseMs?: number
  /** Messages worked on at once. Default 1. */
  concurrency?: number
  /** How long one claim waits for a message. Default 20 000. */
  waitMs?: number
  /** Drains: claims stop, running handlers finish. */
  signal?: AbortSignal
  /** Ms of draining after which running handlers are aborted. Default: no bound. */
  drainMs?: number
  onEvent?(event: WorkEvent): void
}

interface Client {
  transport: Transport
  mailboxes: Mailboxes
  publish: Publish
}

/**
 * Works on a mailbox until the signal aborts, then drains and resolves. A claim that is refused
 * for good (bad credential, no such mailbox) rejects after draining; everything else is tried
 * again.
 */
export async function workMailbox(
  client: Client,
  mailbox: string,
  handler: Handler,
  options: WorkOptions,
): Promise<void> {
  const drained = new AbortController()
  const { leaseMs = 30_000, onEvent } = options
  const report = (event: WorkEvent) => onEvent?.(event)
  const worker: Worker = { ...client, handler, leaseMs, drained: drained.signal, report }
  const running = new Set<Promise<void>>()
  const start = (claimed: ClaimedMessage) => {
    const run = handleMessage(worker, claimed).finally(() => running.delete(run))
    running.add(run)
  }
  try {
    await claimUntilAborted(worker, { mailbox, options, running, start })
  } finally {
    await drain(worker, running, { drained, drainMs: options.drainMs })
  }
}

interface ClaimLoop {
  mailbox: string
  options: WorkOptions
  running: Set<Promise<void>>
  start(claimed: ClaimedMessage): void
}

async function claimUntilAborted(worker: Worker, loop: ClaimLoop): Promise<void> {
  const { mailbox, running, start } = loop
  const { executor, signal, concurrency = 1, waitMs = 20_000 } = loop.options
  const { clock, backoffMs } = worker.transport
  const aborted = onceAborted(signal)
  let failures = 0
  while (!signal?.aborted) {
    const max = concurrency - running.size
    if (max <= 0) {
      await Promise.race([...running, aborted])
      continue
    }
    try {
      const input = { executor, leaseMs: worker.leaseMs, waitMs, max }
      const claimed = await worker.mailboxes.claim(mailbox, input, { signal, attemptsMax: 1 })
      failures = 0
      claimed.forEach(start)
    } catch (error) {
      if (signal?.aborted) return
      // A conflict passes: the agent was stopped, and will be started again.
      const mayPass = isClientError(error) && (isTransient(error) || error.status === 409)
      if (!mayPass) throw error
      failures += 1
      worker.report({ kind: 'claim-failed', error })
      const pauseMs = Math.max(error.retryAfterMs ?? 0, backoffMs(failures))
      await clock.sleep(pauseMs, signal).catch(() => undefined)
    }
  }
}

/** Never settles without a signal. */
function onceAborted(signal: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) resolve()
    signal?.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function drain(
  { transport }: Worker,
  running: Set<Promise<void>>,
  { drained, drainMs }: { drained: AbortController; drainMs: number | undefined },
): Promise<void> {
  const finished = new AbortController()
  if (drainMs !== undefined) {
    transport.clock.sleep(drainMs, finished.signal).then(
      () => drained.abort(new Error('The drain time is over; the message will be tried again.')),
      () => undefined,
    )
  }
  await Promise.all(running)
  finished.abort()
}
