/**
 * Keeps one lease while its holder works. It owns when a lease counts as lost; what the loss means
 * for the work is the caller's (`onLost`). Deadlines are durations of this process: the server's
 * clock is not compared.
 */
import type { Lease } from './api.ts'
import { ClientError, isTransient, NO_ANSWER } from './client-error.ts'
import type { Mailboxes } from './mailbox-calls.ts'
import type { Transport } from './transport.ts'

/** A lease as its holder knows it. */
export interface HeldLease {
  messageId: string
  /** The newest lease; every call sends its handle. */
  lease: Lease
  /** Monotonic ms after which the lease must be taken as over. */
  deadline: number
  /** The holder is ending the lease itself, so a refused renewal means nothing. */
  isEnding: boolean
}

interface Keeper {
  transport: Transport
  mailboxes: Pick<Mailboxes, 'renew'>
  leaseMs: number
  onLost(error: unknown): void
}

/**
 * Renews at a third of the lease until `stop`; resolves then, or after `onLost`. A refusal loses
 * the lease at once; a missing answer is tried again until the deadline.
 */
export async function keepLease(keeper: Keeper, held: HeldLease, stop: AbortSignal): Promise<void> {
  const { clock, backoffMs } = keeper.transport
  const everyMs = keeper.leaseMs / 3
  let failures = 0
  while (!stop.aborted) {
    const waitMs = failures === 0 ? everyMs : Math.min(backoffMs(failures), everyMs)
    const leftMs = held.deadline - clock.now()
    await clock.sleep(Math.max(0, Math.min(waitMs, leftMs)), stop).catch(() => undefined)
    if (stop.aborted) return
    try {
      await renewOnce(keeper, held, stop)
      failures = 0
    } catch (error) {
      if (stop.aborted || held.isEnding) return
      failures += 1
      if (isTransient(error) && clock.now() < held.deadline) continue
      return keeper.onLost(error)
    }
  }
}

async function renewOnce(keeper: Keeper, held: HeldLease, stop: AbortSignal): Promise<void> {
  const { transport, mailboxes, leaseMs } = keeper
  const askedAt = transport.clock.now()
  // A renewal that hangs must not outlive the lease; a quarter of it leaves time for others.
  const limitMs = Math.max(1, Math.min(leaseMs / 4, held.deadline - askedAt))
  const limit = new AbortController()
  const answered = new AbortController()
  const ended = AbortSignal.any([stop, answered.signal])
  transport.clock.sleep(limitMs, ended).then(
    () => limit.abort(noRenewal(limitMs)),
    () => limit.abort(ended.reason),
  )
  try {
    const options = { signal: limit.signal, attemptsMax: 1 }
    held.lease = await mailboxes.renew(held.messageId, held.lease.handle, leaseMs, options)
    held.deadline = askedAt + leaseMs
  } finally {
    answered.abort()
  }
}

function noRenewal(limitMs: number): ClientError {
  return new ClientError(
    `Expected a renewal within ${Math.round(limitMs)} ms, got none. It is asked for again.`,
    { status: 0, code: NO_ANSWER.timeout },
  )
}
