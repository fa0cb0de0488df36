/**
 * The one HTTP application: strict JSON in, problem details (RFC 9457) out, health, metrics and
 * the OpenAPI document. Services add their routes as plugins.
 */
import rateLimit from '@fastify/rate-limit'
import swagger from '@fastify/swagger'
import underPressure from '@fastify/under-pressure'
import fastify, { type FastifyError, type FastifyInstance, type FastifyReply } from 'fastify'
import { jsonSchemaTransform, type ZodTypeProvider } from 'fastify-type-provider-zod'
import type { Registry } from 'prom-client'
import type { z } from 'zod'
import { decodeUtf8, parseStrictJson, stringifyLossless } from '#kernel/domain/lossless-json.ts'
import { parseWith } from '#kernel/domain/parse-with.ts'
import { AmbitError, ERRORS, type ErrorCode, isAmbitError } from '#kernel/errors.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { Logger } from '#kernel/ports/logger.ts'

export interface HttpAppOptions {
  logger: Logger
  ids: Ids
  metrics: Registry
  /** Why the process is not ready yet; empty when it is. */
  notReady(): string[]
  /** Largest body in bytes. Default 1 MiB. */
  bodyLimit?: number
  /** Requests per second and address; 0 turns the limit off. */
  ratePerSecond: number
}

const routeTypes = (app: FastifyInstance) => app.withTypeProvider<ZodTypeProvider>()

/** A fastify instance whose schemas are zod's. */
export type HttpApp = ReturnType<typeof routeTypes>

/** Builds the application without listening, so that tests inject requests. */
export async function createHttpApp(options: HttpAppOptions): Promise<HttpApp> {
  const { logger, ids } = options
  const app = fastify({
    logger: false,
    bodyLimit: options.bodyLimit ?? 1024 * 1024,
    genReqId: () => ids.random(),
    requestTimeout: 120_000,
    connectionTimeout: 130_000,
    http: { maxHeaderSize: 32 * 1024, headersTimeout: 20_000 },
    return503OnClosing: true,
    // A request in hand is answered before the end; `stop` bounds how long that may take.
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false,
    // UIDs of calendars are longer than fastify's 100 characters.
    routerOptions: { maxParamLength: 2048 },
  })
  readBodiesStrictly(app)
  app.setValidatorCompiler<z.ZodType>(
    ({ schema }) =>
      data =>
        validated(schema, data),
  )
  app.setSerializerCompiler(() => stringifyLossless)
  app.setReplySerializer(stringifyLossless)
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const problem = toProblem(error)
    // 503 is said by the part that is away; once per request it would only flood an outage.
    if (problem.status === 500) logger.error({ reqId: request.id, err: error }, 'request failed')
    return sendProblem(reply, problem, request.id)
  })
  const methodsAt = offeredMethods(app)
  app.setNotFoundHandler((request, reply) => {
    const asked = `${request.method} ${pathOf(request.url)}`
    const allow = methodsAt(pathOf(request.url) ?? '').join(', ')
    const error = allow
      ? new AmbitError('method-not-allowed', `There is no ${asked}; the path offers ${allow}.`)
      : new AmbitError('not-found', `There is no ${asked}.`)
    if (allow) reply.header('allow', allow)
    return sendProblem(reply, toProblem(error), request.id)
  })
  await app.register(underPressure, {
    maxEventLoopDelay: 5000,
    exposeStatusRoute: false,
    pressureHandler: refuseUnderPressure,
  })
  if (options.ratePerSecond > 0) {
    await app.register(rateLimit, {
      max: options.ratePerSecond,
      timeWindow: 1000,
      errorResponseBuilder: () => new AmbitError('rate-limited', 'Too many requests; slow down.'),
    })
  }
  await app.register(swagger, {
    openapi: { info: { title: 'Ambit', version: '1' } },
    transform: jsonSchemaTransform,
  })
  operatorRoutes(app, options)
  return routeTypes(app)
}

/** A second without any sample reads as an infinite delay; it is a busy start, not an overload. */
async function refuseUnderPressure(
  _request: unknown,
  _reply: unknown,
  _type: string,
  value?: number | string,
): Promise<void> {
  if (value === Number.POSITIVE_INFINITY) return
  throw new AmbitError('not-ready', 'The process has more work than it can do; try again soon.')
}

const pathOf = (url: string) => url.split('?', 1)[0]

/** The methods that a path offers, for the 405 of any other (RFC 9110 section 15.5.6). */
function offeredMethods(app: FastifyInstance): (path: string) => string[] {
  const offers: { pattern: RegExp; methods: string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    const literal = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    const pattern = new RegExp(`^${literal.replace(/:[^/]+/g, '[^/]+')}$`)
    offers.push({ pattern, methods: [method].flat() })
  })
  return path => {
    const found = offers.filter(({ pattern }) => pattern.test(path))
    return [...new Set(found.flatMap(({ methods }) => methods))].sort()
  }
}

function readBodiesStrictly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  const json = /^application\/(?:merge-patch\+)?json\s*(?:;|$)/i
  app.addContentTypeParser<Buffer>(json, { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, body.length === 0 ? undefined : parseStrictJson(decodeUtf8(body)))
    } catch (error) {
      done(error as Error)
    }
  })
}

function validated(schema: z.ZodType, data: unknown): { value: unknown } | { error: Error } {
  try {
    return { value: parseWith(schema, data ?? {}) }
  } catch (error) {
    return { error: error as Error }
  }
}

interface Problem {
  status: number
  code: ErrorCode
  detail: string
  facts: AmbitError['facts']
  retryAfterMs?: number
}

const STATUS_CODES: Record<number, ErrorCode> = {
  400: 'bad-request',
  404: 'not-found',
  405: 'method-not-allowed',
  413: 'too-large',
  415: 'unsupported-media-type',
  429: 'rate-limited',
  503: 'not-ready',
}

/** Any failure as a problem; what nobody foresaw is `internal` and says nothing of itself. */
export function toProblem(error: Error & { statusCode?: number }): Problem {
  if (isAmbitError(error)) {
    const { retry } = error
    const retryAfterMs = typeof retry === 'object' ? retry.afterMs : undefined
    const { status, code, message, facts } = error
    return { status, code, detail: message, facts, retryAfterMs }
  }
  const code = STATUS_CODES[error.statusCode ?? 500] ?? 'internal'
  const isOurs = code !== 'internal'
  const detail = isOurs ? error.message : 'The request failed for a reason that was logged.'
  const retryAfterMs = code === 'not-ready' ? 2000 : undefined
  return { status: ERRORS[code].status, code, detail, facts: {}, retryAfterMs }
}

/** What a route answers for a problem: a problem document (RFC 9457) and what else it says. */
export function problemAnswer(problem: Problem, requestId: string) {
  const { status, code, detail, facts, retryAfterMs } = problem
  const { pointer, expected, actual, extra } = facts
  const headers: Record<string, string> = {
    ...(retryAfterMs !== undefined && { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }),
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
  }
  const body = {
    type: `urn:ambit:error:${code}`,
    title: ERRORS[code].title,
    status,
    code,
    detail,
    ...{ pointer, expected, actual },
    ...extra,
    requestId,
  }
  return { status, headers, body }
}

function sendProblem(reply: FastifyReply, problem: Problem, requestId: string): FastifyReply {
  const { status, headers, body } = problemAnswer(problem, requestId)
  return reply.code(status).headers(headers).type('application/problem+json').send(body)
}

function operatorRoutes(app: FastifyInstance, options: HttpAppOptions): void {
  app.get('/healthz', async () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const waiting = options.notReady()
    if (waiting.length > 0) reply.code(503).header('retry-after', 1)
    return { status: waiting.length === 0 ? 'ready' : 'waiting', waiting }
  })
  app.get('/metrics', async (_request, reply) => {
    reply.type(options.metrics.contentType)
    return reply.serializer(String).send(await options.metrics.metrics())
  })
  app.get('/v1/openapi.json', async () => app.swagger())
}
