/** `POST /v1/webhooks/{name}`: verified over the wire bytes, then read, mapped and accepted. */
import { createHash } from 'node:crypto'
import { compileCel } from '#kernel/domain/cel.ts'
import { type EventPayload, payloadOf } from '#kernel/domain/event-payload.ts'
import { parseStrictJson } from '#kernel/domain/lossless-json.ts'
import { isJsonType, parseMediaType } from '#kernel/domain/media-type.ts'
import type { Source } from '#kernel/domain/source.ts'
import { type Bucket, takeToken } from '#kernel/domain/token-bucket.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { SecretResolver } from '#kernel/ports/secret-resolver.ts'
import { type AcceptWorld, acceptEvents } from './accept-events.ts'
import { decodeBody } from './decode-body.ts'
import { headerOf } from './headers.ts'
import type { RawApp } from './raw-bodies.ts'
import { answerOptions, answerSlackChallenge } from './webhooks/handshakes.ts'
import { bodyDeliveryId, type MappingTools, mapWebhook } from './webhooks/mapping.ts'
import { verifyWebhook } from './webhooks/verify.ts'

export interface WebhookRoutesWorld extends AcceptWorld {
  directory: Directory
  secrets: SecretResolver
  clock: Clock
  logger: Logger
  /** Webhooks carry no credential of ours; the embedded host has one tenant. */
  defaultTenant: string
}

const programs = new Map<string, ReturnType<typeof compileCel>>()
const PROGRAMS_MAX = 1000

const tools: MappingTools = {
  evaluate(expression, variables) {
    const known = programs.get(expression)
    if (known) return known.evaluate({ ...variables })
    const program = compileCel(expression, { variables: ['body', 'headers'] })
    if (programs.size >= PROGRAMS_MAX) programs.clear()
    programs.set(expression, program)
    return program.evaluate({ ...variables })
  },
  sha256: bytes => createHash('sha256').update(bytes).digest('hex'),
}

/** Registers the endpoint; `?tenant=` names the tenant where an installation has several. */
export function webhookRoutes(app: RawApp, world: WebhookRoutesWorld): void {
  const buckets = new Map<string, Bucket>()
  const find = (request: { params: Record<string, string>; query: unknown }) => {
    const { tenant } = request.query as { tenant?: unknown }
    const owner = typeof tenant === 'string' ? tenant : world.defaultTenant
    const { name = '' } = request.params
    const source = world.directory.source<Source>(owner, name)
    if (!source) throw new AmbitError('not-found', `There is no webhook source of this name.`)
    return { tenant: owner, name, source }
  }
  app.options('/v1/webhooks/:name', async (request, reply) => {
    const { source } = find(request)
    const answer = answerOptions(request.raw.headersDistinct, source.rateLimit)
    return reply.code(answer.status).headers(answer.headers).send()
  })
  app.post('/v1/webhooks/:name', async (request, reply) => {
    const { tenant, name, source } = find(request)
    admit(buckets, { key: `${tenant}/${name}`, now: world.clock.now() }, source)
    const headers = request.raw.headersDistinct
    const { deliveryId } = await verified(world, source, { headers, body: request.body })
    const rawBody = await decodeBody(request.body, request.headers['content-encoding'])
    const contentType = headerOf(headers, 'content-type')
    const payload = deliveredPayload(rawBody, contentType)
    const body = 'data' in payload ? payload.data : undefined
    const challenge = answerSlackChallenge(body)
    if (challenge && source.verification.scheme === 'slack') return reply.send(challenge.body)
    const event = mapWebhook(
      { name, map: source.map },
      {
        payload,
        contentType,
        headers: flatHeaders(request.headers),
        rawBody,
        deliveryId: deliveryId ?? bodyDeliveryId(source.verification.scheme, body),
      },
      tools,
    )
    await acceptEvents(world, [event], { tenant, topic: 'ingress.webhook' })
    return reply.code(202).send({ id: event.id })
  })
}

/** An event may have no data; a delivery that says it is JSON must hold some. */
function deliveredPayload(body: Buffer, contentType: string | undefined): EventPayload {
  const type = contentType === undefined ? undefined : parseMediaType(contentType)
  if (body.length === 0 && type && isJsonType(type.essence)) parseStrictJson('')
  return payloadOf(body, contentType)
}

/** A bound of the door, counted by this replica alone; no budget. */
function admit(
  buckets: Map<string, Bucket>,
  { key, now }: { key: string; now: number },
  { rateLimit }: Source,
): void {
  if (!rateLimit) return
  const { bucket, waitMs } = takeToken(buckets.get(key), now, rateLimit)
  buckets.set(key, bucket)
  if (waitMs > 0) {
    throw new AmbitError('rate-limited', 'This webhook source is over its rate; retry later.', {
      retryAfterMs: Math.ceil(waitMs),
    })
  }
}

async function verified(
  world: WebhookRoutesWorld,
  source: Source,
  delivery: { headers: Record<string, string[] | undefined>; body: Buffer },
): Promise<{ deliveryId?: string }> {
  const { verification } = source
  const secret = 'secret' in verification ? verification.secret : undefined
  const resolved = secret === undefined ? undefined : await world.secrets.resolve(secret)
  const secrets = resolved === undefined ? [] : [resolved]
  const verdict = verifyWebhook(verification, secrets, { ...delivery, nowMs: world.clock.now() })
  if (verdict.ok) return verdict
  if (verdict.reason === 'unusable-secret') {
    world.logger.error({ scheme: verification.scheme }, 'the secret of a webhook source is missing')
  }
  throw new AmbitError('bad-signature', `The delivery was refused: ${verdict.reason}.`)
}

function flatHeaders(headers: Record<string, string | string[] | undefined>) {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}
