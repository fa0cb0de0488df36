import { createSecretResolver } from '#kernel/adapters/crypto/secret-resolver.ts'
import { secretResolverContract } from './secret-resolver.ts'

secretResolverContract('crypto', (keys, environment = {}) =>
  createSecretResolver(keys, environment),
)
