/** The pipeline's services and the bare chain, each as processes on the same broker. */
import { join } from 'node:path'
import kafkajs from 'kafkajs'
import { readInfraEnv } from '../../deploy/local/infra.ts'
import { type Child, type Ends, KEY, startChild } from './children.ts'

const PARTITIONS = 6
/** Hops between the door and the mailbox: match, guard, dispatcher. */
const HOPS = 2

function infra(): { brokers: string; redis: string } {
  const env = { ...readInfraEnv(), ...process.env }
  const { AMBIT_KAFKA_BROKERS: brokers, AMBIT_REDIS_URL: redis } = env
  if (!brokers || !redis) throw new Error('no Kafka and Redis: run `npm run infra:up` first')
  return { brokers, redis }
}

/** Door, two hops, sink: the same topics on the way as event, candidate and message take. */
export async function startBareChain(): Promise<{ children: Child[]; ends: Ends }> {
  const { brokers } = infra()
  const prefix = `bare-${Date.now().toString(36)}`
  const admin = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: 0 }).admin()
  await admin.connect()
  const topics = Array.from({ length: HOPS + 1 }, (_, n) => ({
    topic: `${prefix}.${n}`,
    numPartitions: PARTITIONS,
  }))
  await admin.createTopics({ topics, waitForLeaders: true })
  await admin.disconnect()
  const script = join(import.meta.dirname, 'bare-chain.ts')
  const start = (role: string, at: number) =>
    startChild(script, [role, brokers, prefix, String(at)], {})
  const [sink, ...rest] = await Promise.all([
    start('sink', HOPS),
    ...Array.from({ length: HOPS }, (_, n) => start('hop', n)),
    start('door', 0),
  ])
  const door = rest.at(-1)
  if (!sink || !door) throw new Error('the bare chain did not start')
  const ends = { publish: door.url, claim: sink.url, control: door.url }
  return { children: [sink, ...rest], ends }
}

/** Settings of services with topics and keys of their own. */
export function serviceEnvironment() {
  const { brokers, redis } = infra()
  const prefix = `bench-${Date.now().toString(36)}`
  const environment = {
    AMBIT_KAFKA_BROKERS: brokers,
    AMBIT_REDIS_URL: redis,
    AMBIT_TOPIC_PREFIX: `${prefix}.`,
    AMBIT_REDIS_PREFIX: `${prefix}:`,
    AMBIT_PARTITIONS: String(PARTITIONS),
    AMBIT_SECRET_KEYS: 'bench-secret-bench-secret-bench-secret',
    AMBIT_API_KEY: KEY,
    AMBIT_PORT: '0',
    AMBIT_LOG_LEVEL: 'warn',
    AMBIT_DATA_DIR: join(process.env.TMPDIR ?? '/tmp', prefix),
  }
  return { environment, topicPrefix: `${prefix}.`, brokers: brokers.split(',') }
}

/** One process per service. */
export async function startServices(): Promise<{ children: Child[]; ends: Ends }> {
  const { environment } = serviceEnvironment()
  const start = (service: string) =>
    startChild(join(import.meta.dirname, `../../services/${service}/main.ts`), [], environment)
  const control = await start('control-plane')
  const [ingest, dispatcher, ...rest] = await Promise.all([
    start('ingest'),
    start('mailbox-dispatcher'),
    start('evaluator'),
    start('guard'),
  ])
  if (!ingest || !dispatcher) throw new Error('the services did not start')
  const ends = { publish: ingest.url, claim: dispatcher.url, control: control.url }
  return { children: [control, ingest, dispatcher, ...rest], ends }
}
