/**
 * What executors and people POST (docs/api.md, "Mailboxes"): bodies are checked strictly, then
 * handed on.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { answerSchema } from '#kernel/domain/approval-answer.ts'
import { instantOf } from '#kernel/domain/message-view.ts'
import { isPermitted, type Permission, type Principal } from '#kernel/domain/principal.ts'
import { nameSchema } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Settlement } from './decide-complete.ts'
import { effectSchema } from './effect.ts'
import type { Mailbox } from './mailbox.ts'
import { runErrorSchema, runResultSchema } from './run-result.ts'

export interface MailboxRoutesOptions {
  mailbox: Mailbox
  /** Rejects `unauthenticated`. */
  authenticate(request: FastifyRequest): Promise<Principal>
}

/** Longest lease and longest wait, ms. */
const LEASE_MS = { min: 1000, max: 3_600_000, default: 30_000 }
const WAIT_MS_MAX = 60_000
const CLAIM_MAX = 100

const leaseMs = z.int().min(LEASE_MS.min).max(LEASE_MS.max)
const handle = z.string().min(1).max(16_384)
const text = z.string().max(4000)
const messageParams = z.strictObject({ id: z.string().min(1).max(128) })
const agentParams = z.strictObject({ agent: nameSchema })

const claimBody = z.strictObject({
  executor: z.string().min(1).max(256),
  leaseMs: leaseMs.default(LEASE_MS.default),
  /** Ms to wait for a first message. */
  waitMs: z.int().min(0).max(WAIT_MS_MAX).default(0),
  max: z.int().min(1).max(CLAIM_MAX).default(1),
})
const renewBody = z.strictObject({ handle, leaseMs: leaseMs.default(LEASE_MS.default) })
const completeBody = z.strictObject({ handle, result: runResultSchema })
const failBody = z.strictObject({
  handle,
  error: runErrorSchema,
  retryable: z.boolean().default(true),
  result: runResultSchema.optional(),
})
const authorizeBody = z.strictObject({ handle, effect: effectSchema })
const askBody = z.strictObject({
  handle,
  question: z.string().min(1).max(4000),
  options: z.array(z.string().min(1).max(256)).min(1).max(20).optional(),
  /** The effect that a yes shall allow. */
  effect: z
    .strictObject({ tool: z.string().min(1).max(256), target: z.string().max(1024).optional() })
    .optional(),
  result: runResultSchema.optional(),
})
const continuationBody = z.strictObject({
  session: z.string().min(1).max(256),
  kind: z.enum(['turn', 'follow-up']),
  input: z.unknown(),
  handle: handle.optional(),
})
const cancelBody = z.strictObject({ reason: text.default('') }).nullish()
const redriveBody = z.strictObject({ reason: text.optional() }).nullish()

/**
 * Adds the routes. The caller of each is known before its body is read, so a stranger learns
 * nothing about what a body should be; other routes of the application are left alone.
 */
export async function mailboxRoutes(
  app: FastifyInstance,
  { mailbox, authenticate }: MailboxRoutesOptions,
): Promise<void> {
  const callers = new WeakMap<FastifyRequest, Principal>()
  const door: Door = {
    onRequest: async request => {
      callers.set(request, await authenticate(request))
    },
    callerOf: request => {
      const by = callers.get(request)
      if (by) return by
      throw new AmbitError('unauthenticated', 'Expected an API key.')
    },
  }
  const typed = withZod(app)
  claimRoutes(typed, mailbox, door)
  leaseRoutes(typed, mailbox, door)
  personRoutes(typed, mailbox, door)
}

/** Who is at the door: looked at once per request. */
interface Door {
  onRequest(request: FastifyRequest): Promise<void>
  callerOf(request: FastifyRequest): Principal
}

type App = ReturnType<typeof withZod>
function withZod(app: FastifyInstance) {
  return app.withTypeProvider<ZodTypeProvider>()
}

function claimRoutes(app: App, mailbox: Mailbox, { callerOf, onRequest }: Door): void {
  const schema = { params: agentParams, body: claimBody }
  app.post('/v1/mailboxes/:agent/claim', { onRequest, schema }, async (request, reply) => {
    const { agent } = request.params
    const by = permitted(callerOf(request), 'mailbox:work')
    refuseForeignMailbox(by, agent)
    const gone = new AbortController()
    reply.raw.once('close', () => gone.abort())
    return { items: await mailbox.claim(by.tenant, agent, request.body, gone.signal) }
  })
}

function leaseRoutes(app: App, mailbox: Mailbox, { callerOf, onRequest }: Door): void {
  const call = <B extends object>(request: FastifyRequest & { body: B }) => {
    const by = permitted(callerOf(request), 'mailbox:work')
    const agent = by.kind === 'agent' ? by.id : undefined
    return { tenant: by.tenant, body: { ...request.body, agent } }
  }
  const schemaOf = <T extends z.ZodType>(body: T) => ({
    onRequest,
    schema: { params: messageParams, body },
  })
  app.post('/v1/messages/:id/renew', schemaOf(renewBody), async request => {
    const { tenant, body } = call(request)
    return mailbox.renew(tenant, request.params.id, body)
  })
  app.post('/v1/messages/:id/complete', schemaOf(completeBody), async request => {
    const { tenant, body } = call(request)
    const { id } = request.params
    return settlementView(id, await mailbox.complete(tenant, id, body))
  })
  app.post('/v1/messages/:id/fail', schemaOf(failBody), async request => {
    const { tenant, body } = call(request)
    const { id } = request.params
    return settlementView(id, await mailbox.fail(tenant, id, body))
  })
  app.post('/v1/messages/:id/authorize', schemaOf(authorizeBody), async request => {
    const { tenant, body } = call(request)
    return mailbox.authorize(tenant, request.params.id, body)
  })
  app.post('/v1/messages/:id/ask', schemaOf(askBody), async request => {
    const { tenant, body } = call(request)
    return mailbox.ask(tenant, request.params.id, body)
  })
}

function personRoutes(app: App, mailbox: Mailbox, { callerOf, onRequest }: Door): void {
  const schemaOf = <T extends z.ZodType>(body: T) => ({
    onRequest,
    schema: { params: messageParams, body },
  })
  const continued = { onRequest, schema: { params: agentParams, body: continuationBody } }
  app.post('/v1/mailboxes/:agent/continuations', continued, async (request, reply) => {
    const by = callerOf(request)
    const { agent } = request.params
    refuseForeignMailbox(by, agent)
    const key = request.headers['idempotency-key']
    const requestId = typeof key === 'string' ? key : undefined
    reply.code(202)
    return mailbox.continueSession(by, agent, { ...request.body, requestId })
  })
  app.post('/v1/messages/:id/cancel', schemaOf(cancelBody), async request => {
    const by = person(callerOf(request))
    return mailbox.cancel(by, request.params.id, request.body?.reason ?? '')
  })
  app.post('/v1/messages/:id/redrive', schemaOf(redriveBody), async request => {
    const by = person(callerOf(request))
    return mailbox.redrive(by, request.params.id)
  })
  app.post('/v1/approvals/:id', schemaOf(answerSchema), async request => {
    const by = callerOf(request)
    return mailbox.answerApproval(by, request.params.id, request.body)
  })
}

function permitted(by: Principal, permission: Permission): Principal {
  if (isPermitted(by, permission)) return by
  throw new AmbitError('forbidden', `Expected a credential that holds ${permission}.`)
}

/** Cancelling and redriving are for people; an agent settles what it holds. */
function person(by: Principal): Principal {
  if (by.kind !== 'agent') return permitted(by, 'mailbox:work')
  throw new AmbitError('forbidden', 'Expected a person; an agent works under its lease.')
}

function refuseForeignMailbox(by: Principal, agent: string): void {
  if (by.kind !== 'agent' || by.id === agent) return
  throw new AmbitError('forbidden', `Expected the mailbox of ${by.id}; an agent has only its own.`)
}

function settlementView(id: string, { state, attempts, run, availableAt }: Settlement) {
  const again = availableAt === undefined ? {} : { availableAt: instantOf(availableAt) }
  return { id, state, attempts, ...again, ...(run ? { run } : {}) }
}
