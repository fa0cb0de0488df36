/**
 * The three real services of a development machine: Kafka, Redis, schema registry. Loopback
 * only. Tests import from here, and take `privateInfraSettings` for a set that they may break.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runningPid } from './daemon.ts'
import { type InfraSettings, infraSettings, privateInfraSettings } from './infra-settings.ts'
import { kafkaAnswers, killKafka, restartKafka, startKafka, stopKafka } from './kafka-broker.ts'
import { withLock } from './lock-file.ts'
import { killRedis, redisAnswers, restartRedis, startRedis, stopRedis } from './redis-server.ts'
import { registryAnswers, startRegistry, stopRegistry } from './schema-registry.ts'

export {
  type InfraSettings,
  infraSettings,
  killKafka,
  killRedis,
  privateInfraSettings,
  restartKafka,
  restartRedis,
  startKafka,
  startRedis,
  startRegistry,
  stopKafka,
  stopRedis,
  stopRegistry,
}

/** The addresses, under the names that every Ambit service reads. */
export interface InfraEnv {
  AMBIT_KAFKA_BROKERS: string
  AMBIT_REDIS_URL: string
  AMBIT_SCHEMA_REGISTRY_URL: string
}

/**
 * Starts what does not run yet and returns the addresses when all three answer; idempotent, and
 * safe when two processes ask at once. Data of an earlier set that has ended is removed first:
 * Kafka's would name schema ids that the new registry does not know.
 */
export function startInfra(settings: InfraSettings): Promise<InfraEnv> {
  mkdirSync(settings.runDir, { recursive: true })
  return withLock(`${settings.runDir}.lock`, async () => {
    if (!isAnyRunning(settings)) rmSync(settings.runDir, { recursive: true, force: true })
    mkdirSync(settings.runDir, { recursive: true })
    const env: InfraEnv = {
      AMBIT_REDIS_URL: await startRedis(settings),
      AMBIT_KAFKA_BROKERS: await startKafka(settings),
      AMBIT_SCHEMA_REGISTRY_URL: await startRegistry(settings),
    }
    writeFileSync(settings.envFile, `${envLines(env).join('\n')}\n`)
    return env
  })
}

/** Stops all three by pid and removes their data and the `env` file; the downloads stay. */
export function stopInfra(settings: InfraSettings): Promise<void> {
  return withLock(`${settings.runDir}.lock`, async () => {
    await Promise.all([stopKafka(settings), stopRedis(settings), stopRegistry(settings)])
    rmSync(settings.envFile, { force: true })
    rmSync(settings.runDir, { recursive: true, force: true })
  })
}

/** The addresses that `infra:up` wrote down, or undefined when it has not run. */
export function readInfraEnv(settings: InfraSettings = infraSettings()): InfraEnv | undefined {
  if (!existsSync(settings.envFile)) return undefined
  const lines = readFileSync(settings.envFile, 'utf8').split('\n')
  const found = new Map(lines.map(line => [line.split('=', 1)[0], line.replace(/^[^=]*=/, '')]))
  const kafka = found.get('AMBIT_KAFKA_BROKERS')
  const redis = found.get('AMBIT_REDIS_URL')
  const registry = found.get('AMBIT_SCHEMA_REGISTRY_URL')
  if (!kafka || !redis || !registry) return undefined
  return {
    AMBIT_KAFKA_BROKERS: kafka,
    AMBIT_REDIS_URL: redis,
    AMBIT_SCHEMA_REGISTRY_URL: registry,
  }
}

async function infraAnswers(env: InfraEnv): Promise<boolean> {
  const answers = await Promise.all([
    kafkaAnswers(env.AMBIT_KAFKA_BROKERS),
    redisAnswers(Number(new URL(env.AMBIT_REDIS_URL).port)),
    registryAnswers(env.AMBIT_SCHEMA_REGISTRY_URL),
  ])
  return answers.every(Boolean)
}

/** The addresses that `infra:up` wrote down, if all three services answer there now. */
export async function answeringInfra(): Promise<InfraEnv | undefined> {
  const env = readInfraEnv()
  return env && (await infraAnswers(env)) ? env : undefined
}

/** `KEY=value`, one a line, ready for a shell or an env file. */
export function envLines(env: InfraEnv): string[] {
  return Object.entries(env).map(([key, value]) => `${key}=${value}`)
}

function isAnyRunning(settings: InfraSettings): boolean {
  const names = ['kafka', 'redis', 'registry']
  return names.some(name => runningPid(join(settings.runDir, name)) !== undefined)
}
