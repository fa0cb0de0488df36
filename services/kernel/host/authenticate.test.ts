import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Registry } from 'prom-client'
import { systemIds } from '#kernel/adapters/system/system-clock.ts'
import type { StoredKey } from '#kernel/domain/principal.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import { startTokenIssuer, type TokenIssuer } from '#test/support/token-issuer.ts'
import {
  type AuthenticateOptions,
  createAuthenticate,
  formatApiKey,
  hashSecret,
} from './authenticate.ts'
import { createHttpApp, type HttpApp } from './http-app.ts'

const ADMIN = 'the-administrators-own-key'
const SECRET = 's'.repeat(32)

const stored: StoredKey = {
  ...{ id: 'k1', tenant: 'acme/eu', version: 1, createdAt: 'then' },
  principal: { kind: 'agent', id: 'triage' },
  roles: ['executor'],
  secretHash: hashSecret(SECRET),
}
const directory: AuthenticateOptions['directory'] = {
  key: (tenant, id) => (tenant === stored.tenant && id === stored.id ? stored : undefined),
  subscription: () => undefined,
  policy: () => assert.fail('nobody asks for it'),
  tenant: () => undefined,
  agent: () => undefined,
  connector: () => undefined,
  source: () => undefined,
  calendar: () => undefined,
  tenants: () => [],
}

/** An application that answers who calls. */
async function appOf(options: Omit<AuthenticateOptions, 'directory'>): Promise<HttpApp> {
  const app = await createHttpApp({
    ...{ logger: silentLogger, ids: systemIds, metrics: new Registry() },
    ...{ notReady: () => [], ratePerSecond: 0 },
  })
  const authenticate = createAuthenticate({ directory, ...options })
  app.get('/who', request => authenticate(request))
  return app
}

const ask = (app: HttpApp, authorization?: string) =>
  app.inject({ url: '/who', headers: authorization === undefined ? {} : { authorization } })

const key = formatApiKey(stored.tenant, stored.id, SECRET)
const place = (text: string) => Buffer.from(text).toString('base64url')

describe('a credential', () => {
  it('of the administrator is the whole key and nothing like it', async () => {
    const app = await appOf({ adminKey: ADMIN })
    const answer = await ask(app, `Bearer ${ADMIN}`)
    const admin = { tenant: 'local', kind: 'person', id: 'admin', roles: ['admin'] }
    assert.deepEqual([answer.statusCode, answer.json()], [200, admin])
    for (const wrong of [ADMIN.slice(1), `${ADMIN}x`, ADMIN.toUpperCase()]) {
      assert.equal((await ask(app, `Bearer ${wrong}`)).statusCode, 401, wrong)
    }
  })
  it('that is an API key stands for its principal, in the tenant of the key', async () => {
    const answer = await ask(await appOf({}), `bearer   ${key}`)
    const agent = { tenant: 'acme/eu', kind: 'agent', id: 'triage', roles: ['executor'] }
    assert.deepEqual([answer.statusCode, answer.json()], [200, agent])
  })
  it('is refused with one and the same answer, whatever is wrong with it', async () => {
    const app = await appOf({ adminKey: ADMIN })
    const other = formatApiKey('other', stored.id, SECRET)
    const wrong: (string | undefined)[] = [
      ...[undefined, '', 'Bearer', 'Bearer ', `Basic ${ADMIN}`, ADMIN, `Bearer ${ADMIN} x`],
      ...['Bearer ambit_', 'Bearer ambit_.', `Bearer ambit_.${SECRET}`, `Bearer ${key}x`],
      ...[`Bearer ${key.slice(0, -1)}`, `Bearer ${other}`, `Bearer ${hashSecret(SECRET)}`],
      ...[`Bearer ${key.replace(SECRET, stored.secretHash)}`, 'Bearer a.b.c'],
    ]
    const details = new Set<string>()
    for (const authorization of wrong) {
      const answer = await ask(app, authorization)
      assert.equal(answer.statusCode, 401, `${authorization}`)
      assert.equal(answer.headers['www-authenticate'], 'Bearer')
      details.add(answer.json().detail)
    }
    assert.equal(details.size, 1)
  })
  it('whose place is no text that we wrote is refused like any other', async () => {
    const app = await appOf({})
    for (const text of ['%', 'acme/%E0%A4%A', '\u0000', 'a/b/c', '/', '🦊/%ff']) {
      const answer = await ask(app, `Bearer ambit_${place(text)}.${SECRET}`)
      assert.equal(answer.statusCode, 401, text)
    }
  })
  it('of an administrator that nobody has set lets nobody in', async () => {
    for (const adminKey of [undefined, '']) {
      const app = await appOf({ adminKey })
      assert.equal((await ask(app, 'Bearer undefined')).statusCode, 401)
    }
  })
})

describe('an access token', () => {
  let issuer: TokenIssuer
  let app: HttpApp

  before(async () => {
    issuer = await startTokenIssuer()
    const { AMBIT_OIDC_ISSUER, AMBIT_OIDC_AUDIENCE, AMBIT_OIDC_JWKS_URL } = issuer.env
    app = await appOf({
      oidc: {
        issuer: AMBIT_OIDC_ISSUER ?? '',
        audience: AMBIT_OIDC_AUDIENCE ?? '',
        jwksUrl: AMBIT_OIDC_JWKS_URL ?? '',
        tenantClaim: 'tenant',
      },
    })
  })
  after(() => issuer.stop())

  it('stands for a person of the tenant it names, with the roles that we know', async () => {
    const token = await issuer.token('acme', 'ana', ['viewer', 'emperor'])
    const answer = await ask(app, `Bearer ${token}`)
    const person = { tenant: 'acme', kind: 'person', id: 'ana', roles: ['viewer'] }
    assert.deepEqual([answer.statusCode, answer.json()], [200, person])
  })
  it('that was changed, or is signed by nobody, is refused', async () => {
    const [head = '', body = '', signature = ''] = (await issuer.token('acme')).split('.')
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString())
    const forged = place(JSON.stringify({ ...claims, tenant: 'other' }))
    const none = place(JSON.stringify({ alg: 'none' }))
    for (const token of [
      `${head}.${forged}.${signature}`,
      `${none}.${forged}.`,
      `${head}.${body}.`,
    ]) {
      assert.equal((await ask(app, `Bearer ${token}`)).statusCode, 401)
    }
  })
  it('without a tenant or a subject is refused', async () => {
    assert.equal((await ask(app, `Bearer ${await issuer.token('')}`)).statusCode, 401)
    assert.equal((await ask(app, `Bearer ${await issuer.token('acme', '')}`)).statusCode, 401)
  })
  it('of another audience or issuer is refused', async () => {
    const stranger = await startTokenIssuer()
    try {
      const token = await stranger.token('acme')
      assert.equal((await ask(app, `Bearer ${token}`)).statusCode, 401)
    } finally {
      await stranger.stop()
    }
  })
  it('is not read where no issuer is configured', async () => {
    const closed = await appOf({ adminKey: ADMIN })
    assert.equal((await ask(closed, `Bearer ${await issuer.token('acme')}`)).statusCode, 401)
  })
})
