/** Secrets by reference (`env:`, `file:`) or sealed with AES-256-GCM under the configured key. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { SecretResolver } from '#kernel/ports/secret-resolver.ts'

const SEALED = 'sealed:'

/**
 * `keys`: any texts of at least 32 characters; the first seals, all open, so a key can be rotated.
 */
export function createSecretResolver(
  keys: readonly string[],
  environment: Record<string, string | undefined>,
): SecretResolver {
  const derived = keys.map(key => createHash('sha256').update(key).digest())
  return {
    async resolve(reference) {
      if (reference.startsWith('env:')) return variable(environment, reference.slice(4))
      if (reference.startsWith('file:')) {
        return readFile(reference.slice(5), 'utf8').then(
          text => text.trim(),
          () => undefined,
        )
      }
      return reference.startsWith(SEALED)
        ? open(reference.slice(SEALED.length), derived)
        : undefined
    },
    seal(secret) {
      if (/^(?:env|file|sealed):/.test(secret)) return secret
      const [key] = derived
      if (!key) throw new Error('no key to seal secrets with')
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return SEALED + Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')
    },
  }
}

/** Only what somebody has set: every object also has a `constructor`. */
function variable(environment: Record<string, string | undefined>, name: string) {
  return Object.hasOwn(environment, name) ? environment[name] : undefined
}

function open(sealed: string, keys: readonly Buffer[]): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  for (const key of keys) {
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), {
        authTagLength: 16,
      })
      decipher.setAuthTag(bytes.subarray(12, 28))
      return decipher.update(bytes.subarray(28), undefined, 'utf8') + decipher.final('utf8')
    } catch {
      // Sealed under another key; the next one may open it.
    }
  }
  return undefined
}
