/**
 * A whole installation of a test's own: Kafka and Redis that it may break, and its services as
 * processes, two replicas of each unless the test says which and how many.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../deploy/local/free-port.ts'
import {
  type InfraSettings,
  infraSettings,
  killKafka,
  killRedis,
  privateInfraSettings,
  startKafka,
  startRedis,
} from '../../deploy/local/infra.ts'
import { skipWithoutRedisServer } from './scratch-redis.ts'
import { createReplica, type Replica } from './service-replica.ts'

/** The services that an event meets on its way to an executor. */
export const SERVICES = [
  'ingest',
  'evaluator',
  'scheduler',
  'guard',
  'mailbox-dispatcher',
  'control-plane',
] as const
export type ServiceName = (typeof SERVICES)[number] | 'mcp-poller'

export interface HttpAnswer {
  status: number
  retryAfter: string | null
  body: unknown
}

export interface CallOptions {
  method?: string
  body?: unknown
  headers?: Record<string, string>
  timeoutMs?: number
  /** Only this replica; the next one that is up where omitted. */
  replica?: number
}

export interface Cluster {
  infra: InfraSettings
  brokers: string[]
  redisUrl: string
  /** Prefix of the topics. */
  prefix: string
  replicas(service: ServiceName): Replica[]
  replica(service: ServiceName, index: number): Replica
  /** One request to one replica after the other. Rejects only when nobody answers. */
  call(service: ServiceName, path: string, options?: CallOptions): Promise<HttpAnswer>
  /** Leaves logs and data behind when it stops; answers the folder. */
  keepLogs(): string
  /** Ends everything and removes the folder; the ends of the logs go with it. */
  stop(): Promise<void>
}

export interface ClusterOptions {
  /** Replicas of each service; one that is not named does not run. Default: `SERVICES`, 2 each. */
  size?: Partial<Record<ServiceName, number>>
  /** Further settings of every service. */
  env?: Record<string, string>
}

const PARTITIONS = 6
const TWO_OF_EACH = Object.fromEntries(SERVICES.map(service => [service, 2]))
const SIGNALS = ['SIGINT', 'SIGTERM'] as const
const CALL_TIMEOUT_MS = 15_000
const KAFKA_FOLDER = /^kafka-/

/** The reason to skip, or false when this machine has what `infra:up` downloads. */
export const skipWithoutPrograms: string | false = skipWithoutRedisServer || lacksKafka()

function lacksKafka(): string | false {
  const { cacheDir } = infraSettings()
  const has = existsSync(cacheDir) && readdirSync(cacheDir).some(name => KAFKA_FOLDER.test(name))
  return has ? false : 'needs the downloads of npm run infra:up'
}

/** Starts Kafka, Redis and then all replicas at once; resolves when every one is ready. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const dir = mkdtempSync(join(tmpdir(), 'ambit-chaos-'))
  const infra = privateInfraSettings(join(dir, 'run'))
  const [broker, redisUrl] = await Promise.all([startKafka(infra), startRedis(infra)])
  const prefix = `chaos-${randomBytes(4).toString('hex')}.`
  const key = randomBytes(18).toString('base64url')
  const env = {
    NODE_ENV: 'production',
    AMBIT_API_KEY: key,
    AMBIT_KAFKA_BROKERS: broker,
    AMBIT_TOPIC_PREFIX: prefix,
    AMBIT_PARTITIONS: String(PARTITIONS),
    AMBIT_REDIS_URL: redisUrl,
    AMBIT_SECRET_KEYS: randomBytes(32).toString('base64url'),
    ...options.env,
  }
  const replicas = new Map<ServiceName, Replica[]>()
  for (const [service, count] of Object.entries(options.size ?? TWO_OF_EACH)) {
    const list: Replica[] = []
    for (let index = 0; index < count; index++) {
      list.push(createReplica({ service, index, port: await freePort(0), dir, env }))
    }
    replicas.set(service as ServiceName, list)
  }
  const all = [...replicas.values()].flat()
  let isKept = Boolean(process.env.AMBIT_INFRA_KEEP_LOGS)
  const keepLogs = () => {
    isKept = true
    return dir
  }
  const stop = async () => {
    for (const signal of SIGNALS) process.off(signal, leave)
    await Promise.all(all.map(replica => replica.kill9()))
    await Promise.all([killKafka(infra), killRedis(infra)])
    if (!isKept) rmSync(dir, { recursive: true, force: true })
  }
  // A test that is called off leaves no process behind.
  const leave = () => void stop().finally(() => process.exit(1))
  for (const signal of SIGNALS) process.once(signal, leave)
  try {
    await Promise.all(all.map(replica => replica.start()))
  } catch (error) {
    await stop()
    throw error
  }
  const listOf = (service: ServiceName) => replicas.get(service) ?? []
  return {
    ...{ infra, brokers: [broker], redisUrl, prefix, keepLogs, stop },
    replicas: listOf,
    replica: (service, index) => listOf(service)[index]!,
    call: createCaller(key, listOf),
  }
}

/** Like a load balancer that knows which replicas are gone, and nothing of those that limp. */
function createCaller(key: string, listOf: (service: ServiceName) => Replica[]): Cluster['call'] {
  let turn = 0
  return async (service, path, { method, body, headers, timeoutMs, replica } = {}) => {
    const list = listOf(service)
    const alive = list.filter(each => each.state() === 'up')
    const among = alive.length > 0 ? alive : list
    const chosen = replica === undefined ? among[turn++ % among.length] : list[replica]
    const answer = await fetch(`${chosen?.url}${path}`, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      signal: AbortSignal.timeout(timeoutMs ?? CALL_TIMEOUT_MS),
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      retryAfter: answer.headers.get('retry-after'),
      body: text === '' ? null : JSON.parse(text),
    }
  }
}
