/** Who calls: API keys, hashed at rest, and OIDC access tokens. Nothing in a body says who. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { splitTenantKey, tenantKey } from '#kernel/domain/ids.ts'
import { type Principal, ROLES, type Role } from '#kernel/domain/principal.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Directory } from '#kernel/host/directory.ts'

export type Authenticate = (request: FastifyRequest) => Promise<Principal>

export interface AuthenticateOptions {
  directory: Directory
  /** The key of a person who administers tenant `local`. */
  adminKey?: string
  oidc?: { issuer: string; audience: string; jwksUrl: string; tenantClaim: string }
}

const KEY_PREFIX = 'ambit_'

/** Text of a key: prefix, place (tenant and id), secret. Only the secret's hash is stored. */
export function formatApiKey(tenant: string, id: string, secret: string): string {
  return `${KEY_PREFIX}${Buffer.from(tenantKey(tenant, id)).toString('base64url')}.${secret}`
}

/** SHA-256 of a key's secret, hex; the secret has 128 random bits, so no salt is needed. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret)
}

/** Rejects with `unauthenticated`; the message is the same whatever did not fit. */
export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { directory, adminKey, oidc } = options
  const keys = oidc && createRemoteJWKSet(new URL(oidc.jwksUrl))
  const adminDigest = adminKey === undefined ? undefined : digestOf(adminKey)
  return async request => {
    const token = /^Bearer +([^\s]+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (!token) throw unauthenticated()
    if (adminDigest && timingSafeEqual(digestOf(token), adminDigest)) {
      return { tenant: 'local', kind: 'person', id: 'admin', roles: ['admin'] }
    }
    if (token.startsWith(KEY_PREFIX)) return byKey(token, directory)
    if (oidc && keys) return byToken(token, oidc, keys)
    throw unauthenticated()
  }
}

function unauthenticated(): AmbitError {
  return new AmbitError(
    'unauthenticated',
    'Send "Authorization: Bearer <key>" with a key of this installation.',
  )
}

/** Digests have one length, so that comparing them tells nothing about the texts. */
const digestOf = (text: string): Buffer => hash('sha256', text, 'buffer')

function isSame(left: string, right: string): boolean {
  return timingSafeEqual(digestOf(left), digestOf(right))
}

/** Tenant and id of a key's place; none where it is no text of ours. */
function placeOf(place: string): string[] {
  try {
    return splitTenantKey(Buffer.from(place, 'base64url').toString())
  } catch {
    return []
  }
}

function byKey(token: string, directory: Directory): Principal {
  const [place = '', secret = ''] = token.slice(KEY_PREFIX.length).split('.')
  const [tenant = '', id = ''] = placeOf(place)
  const stored = directory.key(tenant, id)
  if (!stored || !isSame(hashSecret(secret), stored.secretHash)) throw unauthenticated()
  return { tenant, kind: stored.principal.kind, id: stored.principal.id, roles: stored.roles }
}

async function byToken(
  token: string,
  oidc: NonNullable<AuthenticateOptions['oidc']>,
  keys: ReturnType<typeof createRemoteJWKSet>,
): Promise<Principal> {
  const { payload } = await jwtVerify(token, keys, {
    issuer: oidc.issuer,
    audience: oidc.audience,
  }).catch(() => {
    throw unauthenticated()
  })
  const tenant = payload[oidc.tenantClaim]
  if (typeof tenant !== 'string' || tenant === '' || !payload.sub) throw unauthenticated()
  const claimed = Array.isArray(payload.roles) ? payload.roles : []
  const roles = claimed.filter((role): role is Role => ROLES.includes(role as Role))
  return { tenant, kind: 'person', id: payload.sub, roles }
}
