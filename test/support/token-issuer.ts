/** An issuer of access tokens on loopback: each tenant of a test gets its own administrator. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

export interface TokenIssuer {
  /** Settings that make a host trust this issuer. */
  env: Record<string, string>
  /** A token of somebody in that tenant. Default role: `admin`. */
  token(tenant: string, subject?: string, roles?: string[]): Promise<string>
  stop(): Promise<void>
}

const AUDIENCE = 'ambit-e2e'

/** Serves its public key until stopped. */
export async function startTokenIssuer(): Promise<TokenIssuer> {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), kid: 'e2e', alg: 'ES256', use: 'sig' }
  const server = createServer((_request, answer) => {
    answer.setHeader('content-type', 'application/json')
    answer.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  // A suite that fails before it stops the issuer must still end.
  server.unref()
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    env: {
      AMBIT_OIDC_ISSUER: issuer,
      AMBIT_OIDC_AUDIENCE: AUDIENCE,
      AMBIT_OIDC_JWKS_URL: `${issuer}/keys`,
    },
    token: (tenant, subject = 'root', roles = ['admin']) =>
      new SignJWT({ tenant, roles })
        .setProtectedHeader({ alg: 'ES256', kid: 'e2e' })
        .setIssuer(issuer)
        .setAudience(AUDIENCE)
        .setSubject(subject)
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
