/** The mailbox routes as they are; `workMailbox` is what an executor wants. */
import type {
  Answered,
  ApprovalAnswer,
  Authorization,
  ClaimedMessage,
  ClaimInput,
  Continuation,
  Effect,
  Lease,
  MailboxSummary,
  Message,
  PendingApproval,
  Question,
  RunError,
  RunResult,
  Settlement,
} from './api.ts'
import { type Listing, listing } from './page-items.ts'
import { type Call, segment, type Transport } from './transport.ts'

interface CallOptions {
  signal?: AbortSignal
  /** Attempts of this call, the first included. Default: the client's. */
  attemptsMax?: number
}

export interface Mailboxes {
  list: Listing<MailboxSummary, unknown>
  messages(agent: string): Listing<Message, { state?: string }>
  message(id: string): Promise<Message>
  claim(agent: string, input: ClaimInput, options?: CallOptions): Promise<ClaimedMessage[]>
  renew(id: string, handle: string, leaseMs: number, options?: CallOptions): Promise<Lease>
  /** The same lease completing twice gets the stored result. */
  complete(id: string, handle: string, result: RunResult, o?: CallOptions): Promise<Settlement>
  /** `retryable: false` makes the message dead at once. */
  fail(id: string, handle: string, failure: Failure, o?: CallOptions): Promise<Settlement>
  /** Asks whether an effect is allowed now; to be called right before it. */
  authorize(id: string, handle: string, effect: Effect, o?: CallOptions): Promise<Authorization>
  /** Asks a person and ends the lease; the answer comes as a continuation. */
  ask(id: string, handle: string, question: Question, o?: CallOptions): Promise<unknown>
  /** The same `idempotencyKey` makes one message, also much later; default: a random one. */
  continueSession(
    agent: string,
    continuation: Continuation,
    options?: { idempotencyKey?: string },
  ): Promise<{ id: string }>
  cancel(id: string, reason?: string): Promise<Settlement>
  redrive(id: string): Promise<Settlement>
  /** Answers a question of a run, or an ask; the first answer counts, another one is a conflict. */
  answerApproval(id: string, answer: ApprovalAnswer): Promise<Answered>
  /** Subscriptions, asks and questions of runs that wait for a person. */
  approvals: Listing<PendingApproval, unknown>
}

export interface Failure {
  error: RunError
  retryable: boolean
  result?: RunResult
}

/** Binds the mailbox routes to a transport. */
export function mailboxCalls(transport: Transport): Mailboxes {
  const post = <T>(path: string, body: unknown, more: Partial<Call> = {}) =>
    transport.json<T>({ method: 'POST', path, body, ...more })
  const onMessage = <T>(id: string, verb: string, body: unknown, options?: CallOptions) =>
    post<T>(`/v1/messages/${segment(id)}/${verb}`, body, options)
  const mailbox = (agent: string) => `/v1/mailboxes/${segment(agent)}`
  return {
    list: listing(transport, '/v1/mailboxes'),
    approvals: listing(transport, '/v1/approvals'),
    messages: agent => listing(transport, `${mailbox(agent)}/messages`),
    message: id => transport.json({ method: 'GET', path: `/v1/messages/${segment(id)}` }),
    async claim(agent, input, options) {
      const more = { ...options, waitMs: input.waitMs ?? 0 }
      const path = `${mailbox(agent)}/claim`
      return (await post<{ items: ClaimedMessage[] }>(path, input, more)).items
    },
    async renew(id, handle, leaseMs, options) {
      return (await onMessage<{ lease: Lease }>(id, 'renew', { handle, leaseMs }, options)).lease
    },
    complete: (id, handle, result, options) =>
      onMessage(id, 'complete', { handle, result }, options),
    fail: (id, handle, failure, options) => onMessage(id, 'fail', { handle, ...failure }, options),
    authorize: (id, handle, effect, options) =>
      onMessage(id, 'authorize', { handle, effect }, options),
    ask: (id, handle, question, options) => onMessage(id, 'ask', { handle, ...question }, options),
    continueSession: (agent, body, { idempotencyKey } = {}) =>
      post(`${mailbox(agent)}/continuations`, body, {
        ...(idempotencyKey ? { headers: { 'idempotency-key': idempotencyKey } } : {}),
      }),
    cancel: (id, reason) => onMessage(id, 'cancel', reason === undefined ? {} : { reason }),
    redrive: id => onMessage(id, 'redrive', {}),
    answerApproval: (id, answer) => post(`/v1/approvals/${segment(id)}`, answer),
  }
}
