/** One claimed message: run the handler under a kept lease, then settle with its outcome. */
import type {
  Accepted,
  Authorization,
  ClaimedMessage,
  Effect,
  EventInput,
  Lease,
  Message,
  Question,
  RunError,
  RunResult,
} from './api.ts'
import { type ClientError, isClientError, isTransient, RunFailure } from './client-error.ts'
import { type HeldLease, keepLease } from './keep-lease.ts'
import type { Mailboxes } from './mailbox-calls.ts'
import type { Publish } from './publish-events.ts'
import type { Transport } from './transport.ts'

/** What a handler may do besides returning. */
export interface WorkContext {
  /** Aborts when the lease is lost or the drain time is over: stop before the next effect. */
  signal: AbortSignal
  /** Did the signal abort because the lease was lost? Otherwise the drain time is over. */
  isLost(): boolean
  /** 1 for the first attempt at the message. */
  attempt: number
  /** The current lease; `token` fences effects outside. */
  lease(): Lease
  /**
   * Publishes under the lease, so that the events carry the message's lineage. Give an `id` that
   * follows from the message where a second attempt must not publish twice.
   */
  emit(events: EventInput | readonly EventInput[]): Promise<Accepted>
  /** May this effect happen now? To be called right before it. */
  authorize(effect: Effect): Promise<Authorization>
  /** Asks a person and ends the lease; return afterwards. The answer comes as a continuation. */
  ask(question: Question): Promise<void>
}

/**
 * Works on one message. Returning completes it, with the given result or a plain one; throwing
 * fails it for another attempt: for good with a `PermanentError`, with a result as `RunFailure`.
 */
export type Handler = (message: Message, context: WorkContext) => Promise<RunResult | undefined>

/** What became of a message, or of a claim; for logs and metrics. */
export type WorkEvent =
  | { kind: 'settled'; messageId: string; state: string }
  | { kind: 'asked'; messageId: string }
  /** The lease was lost: the message is, or will be, somebody else's. Nothing was settled. */
  | { kind: 'lost'; messageId: string; error: unknown }
  | { kind: 'claim-failed'; error: ClientError }

export interface Worker {
  transport: Transport
  mailboxes: Mailboxes
  publish: Publish
  handler: Handler
  leaseMs: number
  /** Aborts the handlers still running when the drain time is over. */
  drained: AbortSignal
  report(event: WorkEvent): void
}

/** Runs and settles one message; never rejects. */
export async function handleMessage(worker: Worker, claimed: ClaimedMessage): Promise<void> {
  const { message } = claimed
  const lost = new AbortController()
  const done = new AbortController()
  const held: HeldLease = {
    messageId: message.id,
    lease: claimed.lease,
    deadline: worker.transport.clock.now() + worker.leaseMs,
    isEnding: false,
  }
  const onLost = (error: unknown) => lost.abort(error)
  const renewal = keepLease({ ...worker, onLost }, held, done.signal)
  try {
    const signal = AbortSignal.any([lost.signal, worker.drained])
    const asked = { done: false }
    const isLost = () => lost.signal.aborted
    const context = contextOf(worker, held, { signal, isLost, asked, attempt: claimed.attempt })
    const outcome = await outcomeOf(worker.handler, message, context)
    if (asked.done) return worker.report({ kind: 'asked', messageId: message.id })
    if (lost.signal.aborted) throw lost.signal.reason
    held.isEnding = true
    worker.report(await settle(worker, held, outcome))
  } catch (error) {
    worker.report({ kind: 'lost', messageId: message.id, error })
  } finally {
    done.abort()
    await renewal
  }
}

interface ContextParts {
  signal: AbortSignal
  isLost(): boolean
  asked: { done: boolean }
  attempt: number
}

function contextOf(
  { publish, mailboxes }: Worker,
  held: HeldLease,
  { signal, isLost, asked, attempt }: ContextParts,
): WorkContext {
  return {
    signal,
    isLost,
    attempt,
    lease: () => held.lease,
    emit: events => publish(events, { lease: held.lease.handle, signal }),
    authorize: effect => mailboxes.authorize(held.messageId, held.lease.handle, effect, { signal }),
    async ask(question) {
      held.isEnding = true
      try {
        await mailboxes.ask(held.messageId, held.lease.handle, question, { signal })
        asked.done = true
      } finally {
        held.isEnding = asked.done
      }
    },
  }
}

type Outcome =
  | { result: RunResult }
  | { error: RunError; retryable: boolean; failedWith?: RunResult }

async function outcomeOf(
  handler: Handler,
  message: Message,
  context: WorkContext,
): Promise<Outcome> {
  try {
    return { result: (await handler(message, context)) ?? { ok: true, stopReason: 'completed' } }
  } catch (error) {
    const isPermanent = error instanceof Error && error.name === 'PermanentError'
    const failedWith = error instanceof RunFailure ? error.result : undefined
    return { error: runErrorOf(error), retryable: !isPermanent, failedWith }
  }
}

/** Bounds of the server for the two members. */
const ERROR_CHARACTERS = { code: 128, message: 4000 }

function runErrorOf(error: unknown): RunError {
  if (!(error instanceof Error)) return String(error).slice(0, ERROR_CHARACTERS.message)
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return {
    code: code.slice(0, ERROR_CHARACTERS.code),
    message: error.message.slice(0, ERROR_CHARACTERS.message),
  }
}

/**
 * Settles until the server answers or the lease is over; the renewal goes on meanwhile. Repeating
 * is safe: the same lease settling twice gets the stored result.
 */
async function settle(worker: Worker, held: HeldLease, outcome: Outcome): Promise<WorkEvent> {
  for (;;) {
    try {
      const { state } = await settleOnce(worker.mailboxes, held, outcome)
      return { kind: 'settled', messageId: held.messageId, state }
    } catch (error) {
      if ('result' in outcome && isRefusedResult(error)) {
        const message = `The result was refused: ${error.message}`
        outcome = { error: { code: error.code, message }, retryable: false }
      } else if (!isTransient(error) || worker.transport.clock.now() >= held.deadline) throw error
    }
  }
}

function settleOnce(mailboxes: Mailboxes, held: HeldLease, outcome: Outcome) {
  const { messageId, lease } = held
  if ('result' in outcome) return mailboxes.complete(messageId, lease.handle, outcome.result)
  const { error, retryable, failedWith } = outcome
  const reported = failedWith ? { result: failedWith } : {}
  return mailboxes.fail(messageId, lease.handle, { error, retryable, ...reported })
}

/** A result that the server will never take; trying the work again would not change it. */
function isRefusedResult(error: unknown): error is ClientError {
  return isClientError(error) && [400, 413, 422].includes(error.status)
}
