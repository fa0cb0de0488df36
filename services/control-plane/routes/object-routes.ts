/** Policy, agents, keys, sources, and the switches that stop an agent or the tenant. */
import { z } from 'zod'
import { type Agent, agentSchema } from '#kernel/domain/agent.ts'
import { compileCel } from '#kernel/domain/cel.ts'
import { type ObjectKind, POLICY_ID, TABLE_OF, TENANT_ID } from '#kernel/domain/object-key.ts'
import { parseWith } from '#kernel/domain/parse-with.ts'
import { policySchema } from '#kernel/domain/policy.ts'
import { keySchema, type StoredKey } from '#kernel/domain/principal.ts'
import { type Source, sourceNameSchema, sourceSchema } from '#kernel/domain/source.ts'
import { nameSchema } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import { formatApiKey, hashSecret } from '#kernel/host/authenticate.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { type HttpSender, SendFailure } from '#kernel/ports/http-sender.ts'
import type { SecretResolver } from '#kernel/ports/secret-resolver.ts'
import { withoutSecrets } from '../read-model/without-secrets.ts'
import { pageOf, pageQuery } from './page.ts'
import { permitted } from './permitted.ts'
import { ifMatchOf, sendChange } from './send-change.ts'
import type { SubscriptionRoutesWorld } from './subscription-world.ts'

export interface ObjectRoutesWorld extends SubscriptionRoutesWorld {
  secrets: SecretResolver
  httpSender: Pick<HttpSender, 'check'>
  /** Whether a webhook source may go without verification. */
  allowUnverified: boolean
}

const idParams = z.strictObject({ id: z.string().min(1).max(256) })
const reasonBody = z.strictObject({ reason: z.string().min(1).max(1000) })

/** Registers the routes. */
export function objectRoutes(app: HttpApp, world: ObjectRoutesWorld): void {
  policyRoutes(app, world)
  agentRoutes(app, world)
  switchRoutes(app, world)
  keyRoutes(app, world)
  sourceRoutes(app, world)
  changeRoutes(app, world)
}

function policyRoutes(app: HttpApp, world: ObjectRoutesWorld): void {
  app.get('/v1/policy', async (request, reply) => {
    const { tenant } = await permitted(world, request, 'read')
    const policy = world.directory.policy(tenant)
    reply.header('etag', `"${policy.version}"`)
    return policy
  })
  app.put('/v1/policy', async (request, reply) => {
    const by = await permitted(world, request, 'policy:write')
    const body = parseWith(policySchema, withoutSystemMembers(request.body))
    const ifVersion = ifMatchOf(request)
    const order = { kind: 'policy' as const, id: POLICY_ID, action: 'put', body, ifVersion }
    return sendChange(reply, await world.registry.ask(by, order))
  })
}

/** Documents of one kind in a tenant, ordered by id. */
function documentsOf<T>(world: ObjectRoutesWorld, tenant: string, kind: ObjectKind): T[] {
  const prefix = `${encodeURIComponent(tenant)}/${kind}/`
  const topic = TABLE_OF[kind]
  return [...world.tables.keys(topic)]
    .filter(key => key.startsWith(prefix))
    .sort()
    .flatMap(key => {
      const document = world.tables.get(topic, key)
      return document && !document.deleted ? [document.doc as T] : []
    })
}

/** What `PUT` accepts, with what the system adds. */
function agentView(doc: unknown) {
  const { tenant: _tenant, ...shown } = doc as Agent
  return shown
}

function agentRoutes(app: HttpApp, world: ObjectRoutesWorld): void {
  app.get('/v1/agents', { schema: { querystring: pageQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    return pageOf(documentsOf<Agent>(world, tenant, 'agent'), request.query, a => a.id, agentView)
  })
  app.get('/v1/agents/:id', { schema: { params: idParams } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    const agent = world.directory.agent(tenant, request.params.id)
    if (!agent) throw new AmbitError('not-found', `There is no agent ${request.params.id}.`)
    return agentView(agent)
  })
  app.put('/v1/agents/:id', { schema: { params: idParams } }, async (request, reply) => {
    const by = await permitted(world, request, 'policy:write')
    const id = parseWith(nameSchema, request.params.id)
    const body = parseWith(agentSchema, withoutSystemMembers(request.body))
    if (body.push) await checkPushUrl(world, body.push.url)
    const ifVersion = ifMatchOf(request)
    const order = { kind: 'agent' as const, id, action: 'put', body, ifVersion }
    const result = await world.registry.ask(by, order)
    // Bounds of an agent hold for the next claim, on this replica at least.
    await world.tables.barrier()
    return sendChange(reply, result, agentView)
  })
  app.delete('/v1/agents/:id', { schema: { params: idParams } }, async (request, reply) => {
    const by = await permitted(world, request, 'policy:write')
    const order = { kind: 'agent' as const, id: request.params.id, action: 'delete' }
    return sendChange(reply, await world.registry.ask(by, order), agentView)
  })
}

/** Checked again at every call: what a name means may change (I16). */
async function checkPushUrl({ httpSender }: ObjectRoutesWorld, url: string): Promise<void> {
  try {
    await httpSender.check(url)
  } catch (error) {
    if (!(error instanceof SendFailure)) throw error
    throw new AmbitError(
      'invalid',
      `/push/url: ${error.word}; name an https address that everybody may reach.`,
      { pointer: '/push/url', expected: 'a public https address', actual: error.word },
    )
  }
}

/** `GET` answers what `PUT` accepts: members the system adds are ignored when they come back. */
function withoutSystemMembers(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const added = new Set(['id', 'tenant', 'version', 'stopped'])
  return Object.fromEntries(Object.entries(body).filter(([name]) => !added.has(name)))
}

function switchRoutes(app: HttpApp, world: ObjectRoutesWorld): void {
  for (const action of ['stop', 'start'] as const) {
    app.post(
      `/v1/agents/:id/${action}`,
      { schema: { params: idParams, body: reasonBody } },
      async (request, reply) => {
        const by = await permitted(world, request, 'policy:write')
        const { reason } = request.body
        const order = { kind: 'agent' as const, id: request.params.id, action, reason }
        return sendChange(reply, await world.registry.ask(by, order), agentView)
      },
    )
    app.post(`/v1/${action}`, { schema: { body: reasonBody } }, async (request, reply) => {
      const by = await permitted(world, request, 'policy:write')
      const { reason } = request.body
      const order = { kind: 'tenant' as const, id: TENANT_ID, action, reason }
      return sendChange(reply, await world.registry.ask(by, order))
    })
  }
}

/** A key without its secret's hash. */
function keyView(doc: unknown) {
  const { id, principal, roles, createdAt } = doc as StoredKey
  return { id, principal, roles, createdAt }
}

function keyRoutes(app: HttpApp, world: ObjectRoutesWorld): void {
  app.post('/v1/keys', { schema: { body: keySchema } }, async (request, reply) => {
    const by = await permitted(world, request, 'policy:write')
    const { ids, registry } = world
    const [id, secret] = [ids.random().slice(0, 16), ids.random()]
    const body = {
      ...request.body,
      secretHash: hashSecret(secret),
      createdAt: new Date().toISOString(),
    }
    const result = await registry.ask(by, { kind: 'key', id, action: 'put', body })
    // A key works from the moment it is shown, on this replica at least.
    await world.tables.barrier()
    const key = formatApiKey(by.tenant, id, secret)
    // A slow registry must not cost the only sight of the secret.
    if (result.kind === 'pending') return sendChange(reply, result, doc => doc, { id, key })
    return sendChange(reply, result, doc => ({ ...keyView(doc), key }))
  })
  app.get('/v1/keys', { schema: { querystring: pageQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'policy:write')
    return pageOf(documentsOf<StoredKey>(world, tenant, 'key'), request.query, k => k.id, keyView)
  })
  app.delete('/v1/keys/:id', { schema: { params: idParams } }, async (request, reply) => {
    const by = await permitted(world, request, 'policy:write')
    const order = { kind: 'key' as const, id: request.params.id, action: 'delete' }
    return sendChange(reply, await world.registry.ask(by, order), keyView)
  })
}

/** A source with its secret hidden. */
function sourceView(doc: unknown) {
  const { tenant: _tenant, ...source } = doc as Source & { tenant: string }
  const { verification } = source
  if (!('secret' in verification)) return source
  const isReference = /^(?:env|file):/.test(verification.secret)
  const secret = isReference ? verification.secret : '(stored encrypted)'
  return { ...source, verification: { ...verification, secret } }
}

function sourceRoutes(app: HttpApp, world: ObjectRoutesWorld): void {
  const params = z.strictObject({ name: sourceNameSchema })
  app.put('/v1/sources/:name', { schema: { params } }, async (request, reply) => {
    const by = await permitted(world, request, 'policy:write')
    const body = checkedSource(request.body, world)
    const ifVersion = ifMatchOf(request)
    const id = request.params.name
    const result = await world.registry.ask(by, {
      kind: 'source',
      id,
      action: 'put',
      body,
      ifVersion,
    })
    // `PUT` answers 200 also for a new source, as docs/api.md promises.
    if (result.kind === 'answered') result.status = 200
    await world.tables.barrier()
    return sendChange(reply, result, sourceView)
  })
  app.get('/v1/sources', { schema: { querystring: pageQuery } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    const found = documentsOf<Source & { id: string }>(world, tenant, 'source')
    return pageOf(found, request.query, s => s.id, sourceView)
  })
  app.get('/v1/sources/:name', { schema: { params } }, async request => {
    const { tenant } = await permitted(world, request, 'read')
    const source = world.directory.source(tenant, request.params.name)
    if (!source) throw new AmbitError('not-found', `There is no source ${request.params.name}.`)
    return sourceView(source)
  })
  app.delete('/v1/sources/:name', { schema: { params } }, async (request, reply) => {
    const by = await permitted(world, request, 'policy:write')
    const order = { kind: 'source' as const, id: request.params.name, action: 'delete' }
    return sendChange(reply, await world.registry.ask(by, order), sourceView)
  })
}

/** Checked before anything is stored: expressions compile, secrets are sealed. */
function checkedSource(body: unknown, world: ObjectRoutesWorld): Source {
  const source = parseWith(sourceSchema, body)
  for (const [name, expression] of Object.entries(source.map ?? {})) {
    if (typeof expression !== 'string') continue
    try {
      compileCel(expression, { variables: ['body', 'headers'] })
    } catch (error) {
      const message = error instanceof Error ? error.message : 'the expression cannot be read'
      throw new AmbitError('invalid', `/map/${name}: ${message}`, { pointer: `/map/${name}` })
    }
  }
  const { verification } = source
  if (verification.scheme === 'none' && !world.allowUnverified) {
    throw new AmbitError(
      'invalid',
      '/verification/scheme: none is refused here; name a scheme, or set AMBIT_ALLOW_UNVERIFIED.',
      { pointer: '/verification/scheme', expected: 'a scheme with a secret', actual: 'none' },
    )
  }
  if (!('secret' in verification)) return source
  return {
    ...source,
    verification: { ...verification, secret: world.secrets.seal(verification.secret) },
  }
}

function changeRoutes(app: HttpApp, world: ObjectRoutesWorld): void {
  app.get('/v1/changes/:id', { schema: { params: idParams } }, async (request, reply) => {
    const { tenant } = await permitted(world, request, 'read')
    const answer = world.registry.answerOf(tenant, request.params.id)
    if (answer) {
      const { changeId, status, body } = answer
      return { changeId, status, body: withoutSecrets(body) }
    }
    return reply.code(202).send({ changeId: request.params.id, status: 'pending' })
  })
}
