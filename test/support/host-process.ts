/**
 * The product as a process of its own: started, killed and restarted from outside, on either
 * backbone. Nothing of it is imported; a test sees what a customer sees.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { Kafka, logLevel } from 'kafkajs'
import { freePort } from '../../deploy/local/free-port.ts'
import { liveInfra } from './live-infra.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const READY_WITHIN_MS = 90_000
const STOPPED_WITHIN_MS = 25_000
const OUTPUT_KEPT = 20_000

export type BackboneKind = 'embedded' | 'distributed'

export interface HostOptions {
  /** Further variables of the process, such as `AMBIT_OIDC_ISSUER`. */
  env?: Record<string, string>
  /** Default `services/embedded/main.ts`. */
  program?: string
}

export interface HostProcess {
  kind: BackboneKind
  /** Stays the same over restarts. */
  url: string
  /** Key of the administrator of tenant `local`. */
  key: string
  dataDir: string
  /** Of topics; empty on the embedded backbone. */
  topicPrefix: string
  /** The end of what the process printed on both streams. */
  output(): string
  pid(): number | undefined
  /** SIGKILL; resolves when the process is gone. */
  kill9(): Promise<void>
  /** Starts again with the same data; resolves when `/readyz` is 200. */
  restart(): Promise<void>
  /** SIGTERM; resolves with the exit code, and `null` when it had to be killed. */
  terminate(): Promise<number | null>
  /** Ends the process and removes its data, topics and keys. */
  stop(): Promise<void>
}

/** Starts a host without the demo on fresh data; resolves when it is ready. */
export async function startHost(
  kind: BackboneKind,
  options: HostOptions = {},
): Promise<HostProcess> {
  const dataDir = mkdtempSync(join(tmpdir(), 'ambit-e2e-'))
  const port = await freePort(0)
  const own = kind === 'embedded' ? embeddedPlace() : distributedPlace()
  const key = randomBytes(24).toString('base64url')
  const env = { ...own.env, ...options.env, AMBIT_API_KEY: key }
  const args = ['--empty', '--port', `${port}`, '--data', dataDir]
  const program = options.program ?? 'services/embedded/main.ts'
  const runner = createRunner([program, ...args], env, `http://127.0.0.1:${port}`)
  try {
    await runner.restart()
  } catch (error) {
    await runner.kill9()
    await own.remove()
    throw error
  }
  return {
    ...{ kind, key, dataDir, topicPrefix: own.topicPrefix },
    ...runner,
    async stop() {
      if ((await runner.terminate()) === null) await runner.kill9()
      rmSync(dataDir, { recursive: true, force: true })
      await own.remove()
    },
  }
}

/** Where one test run keeps its state, and how it is removed. */
interface Place {
  env: Record<string, string>
  topicPrefix: string
  remove(): Promise<void>
}

function embeddedPlace(): Place {
  return { env: {}, topicPrefix: '', remove: async () => {} }
}

function distributedPlace(): Place {
  const infra = liveInfra()
  const run = `e2e-${randomBytes(5).toString('hex')}`
  const topicPrefix = `${run}.`
  const redisPrefix = `${run}:`
  return {
    topicPrefix,
    env: {
      ...infra,
      AMBIT_TOPIC_PREFIX: topicPrefix,
      AMBIT_REDIS_PREFIX: redisPrefix,
      AMBIT_PARTITIONS: '4',
      AMBIT_SECRET_KEYS: randomBytes(32).toString('base64url'),
    },
    async remove() {
      await removeTopics(infra.AMBIT_KAFKA_BROKERS, topicPrefix)
      await removeKeys(infra.AMBIT_REDIS_URL, redisPrefix)
    },
  }
}

async function removeTopics(brokers: string, prefix: string): Promise<void> {
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  const all = await admin.listTopics()
  const topics = all.filter(topic => topic.startsWith(prefix))
  if (topics.length > 0) await admin.deleteTopics({ topics })
  await admin.disconnect()
}

async function removeKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url)
  const patterns = [`${prefix}*`, `{${prefix}*`]
  for (const match of patterns) {
    for await (const keys of redis.scanStream({ match, count: 1000 })) {
      if ((keys as string[]).length > 0) await redis.unlink(...(keys as string[]))
    }
  }
  await redis.quit()
}

function createRunner(args: string[], env: Record<string, string>, url: string) {
  let child: ChildProcess | undefined
  let printed = ''
  const keep = (chunk: Buffer) => {
    printed = (printed + chunk.toString()).slice(-OUTPUT_KEPT)
  }
  const isRunning = () => child !== undefined && child.exitCode === null && !child.signalCode
  const ended = (running: ChildProcess) =>
    new Promise<number | null>(resolve => running.once('exit', code => resolve(code)))
  const kill9 = async () => {
    if (!child || !isRunning()) return
    const gone = ended(child)
    child.kill('SIGKILL')
    await gone
  }
  return {
    url,
    output: () => printed,
    pid: () => child?.pid,
    kill9,
    async restart() {
      if (isRunning()) throw new Error('The host still runs: kill or terminate it first')
      child = spawn(process.execPath, args, {
        cwd: ROOT,
        env: { ...cleanEnvironment(), ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child.stdout?.on('data', keep)
      child.stderr?.on('data', keep)
      await ready(url, isRunning, () => printed)
    },
    async terminate() {
      if (!child || !isRunning()) return child?.exitCode ?? null
      const gone = ended(child)
      child.kill('SIGTERM')
      const late = sleep(STOPPED_WITHIN_MS, null, { ref: false })
      const code = await Promise.race([gone, late])
      if (isRunning()) await kill9()
      return code
    },
  }
}

/** Without the caller's own settings, and with the environment a deployment has. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('AMBIT_') && name !== 'NODE_TEST_CONTEXT',
  )
  return { ...Object.fromEntries(others), NODE_ENV: 'production' }
}

async function ready(url: string, isRunning: () => boolean, output: () => string): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS
  while (performance.now() < deadline) {
    if (!isRunning()) throw new Error(`The host ended before it was ready:\n${output()}`)
    const answer = await fetch(`${url}/readyz`).catch(() => undefined)
    await answer?.arrayBuffer()
    if (answer?.status === 200) return
    await sleep(50)
  }
  throw new Error(`The host was not ready within ${READY_WITHIN_MS} ms:\n${output()}`)
}
