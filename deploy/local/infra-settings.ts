import { homedir } from 'node:os'
import { join } from 'node:path'

/**
 * Where one set of local services lives. Two sets with different `runDir` never touch each
 * other, so a chaos test can kill its own broker while the shared one goes on.
 */
export interface InfraSettings {
  /** Downloaded programs, shared by all sets and kept by `infra:down`. */
  cacheDir: string
  /** Data, logs and pid files of this set; removed by `infra:down`. */
  runDir: string
  /** Where the addresses are written as `KEY=value` lines. */
  envFile: string
  /** First choice; another free port is taken where this one is in use. */
  kafkaPort: number
  redisPort: number
  registryPort: number
}

type Env = Record<string, string | undefined>

/** The set that `npm run infra:up` starts: fixed ports, each of them overridable. */
export function infraSettings(env: Env = process.env): InfraSettings {
  const cacheDir = env.AMBIT_INFRA_DIR || join(homedir(), '.cache', 'ambit')
  return {
    cacheDir,
    runDir: join(cacheDir, 'run'),
    envFile: join(cacheDir, 'env'),
    kafkaPort: portOf(env, 'AMBIT_INFRA_KAFKA_PORT', 19092),
    redisPort: portOf(env, 'AMBIT_INFRA_REDIS_PORT', 16379),
    registryPort: portOf(env, 'AMBIT_INFRA_REGISTRY_PORT', 18081),
  }
}

/** A set of a test's own under `runDir`: any free ports, the shared downloads. */
export function privateInfraSettings(runDir: string): InfraSettings {
  const envFile = join(runDir, 'env')
  return { ...infraSettings(), runDir, envFile, kafkaPort: 0, redisPort: 0, registryPort: 0 }
}

function portOf(env: Env, name: string, fallback: number): number {
  const text = env[name]
  if (!text) return fallback
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65535) return port
  throw new Error(`${name} must be a port from 0 to 65535 (0 takes any free one), not "${text}"`)
}
