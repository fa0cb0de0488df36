import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Kafka, logLevel } from 'kafkajs'
import { lastPort, runningPid, startDaemon, stopDaemon } from './daemon.ts'
import { findJava } from './find-java.ts'
import { freePort } from './free-port.ts'
import type { InfraSettings } from './infra-settings.ts'
import { kafkaJars } from './maven-download.ts'

const JAVA_MAJOR_MIN = 17

/**
 * Starts a one-node KRaft broker and returns `host:port` when an admin client can use it.
 * Does nothing when it already runs. Data and port survive stop, kill and start.
 */
export async function startKafka(settings: InfraSettings): Promise<string> {
  const dir = folderOf(settings)
  const known = lastPort(dir)
  if (known !== undefined && runningPid(dir) !== undefined) return `127.0.0.1:${known}`
  const java = findJava(JAVA_MAJOR_MIN)
  const jars = join(kafkaJars(settings.cacheDir), '*')
  const port = await freePort(known ?? settings.kafkaPort)
  mkdirSync(dir, { recursive: true })
  const properties = join(dir, 'server.properties')
  writeFileSync(properties, serverProperties(dir, port, await freePort(0)))
  if (!existsSync(join(dir, 'data', 'meta.properties'))) format(java, jars, properties)
  await startDaemon({
    name: 'Kafka',
    dir,
    port,
    command: java,
    args: ['-Xmx512m', ...LOG_LEVEL, '-cp', jars, 'kafka.Kafka', properties],
    isReady: () => kafkaAnswers(`127.0.0.1:${port}`),
  })
  return `127.0.0.1:${port}`
}

/** A clean shutdown: the broker hands over and closes its log. */
export function stopKafka(settings: InfraSettings): Promise<void> {
  return stopDaemon(folderOf(settings), 'SIGTERM')
}

/** A crash: SIGKILL, nothing flushed or said. */
export function killKafka(settings: InfraSettings): Promise<void> {
  return stopDaemon(folderOf(settings), 'SIGKILL')
}

/** Stops or kills the broker and starts it again on the same port and data. */
export async function restartKafka(settings: InfraSettings, how: 'clean' | 'kill'): Promise<void> {
  await (how === 'clean' ? stopKafka(settings) : killKafka(settings))
  await startKafka(settings)
}

/** Whether a broker at `host:port` answers an admin client within a second or so. */
export async function kafkaAnswers(broker: string): Promise<boolean> {
  const kafka = new Kafka({
    clientId: 'ambit-readiness',
    brokers: [broker],
    connectionTimeout: 1000,
    requestTimeout: 2000,
    logLevel: logLevel.NOTHING,
    retry: { retries: 0 },
  })
  const admin = kafka.admin()
  try {
    await admin.connect()
    const { brokers } = await admin.describeCluster()
    return brokers.length > 0
  } catch {
    return false
  } finally {
    await admin.disconnect().catch(() => undefined)
  }
}

const LOG_LEVEL = ['-Dorg.apache.logging.log4j.level=WARN']

function folderOf(settings: InfraSettings): string {
  return join(settings.runDir, 'kafka')
}

function format(java: string, jars: string, properties: string): void {
  // Kafka's own form of a uuid: 16 bytes, base64url; a leading dash would read as an option.
  const id = randomBytes(16).toString('base64url').replace(/^-/, 'A')
  const tool = ['-cp', jars, ...LOG_LEVEL, 'kafka.tools.StorageTool', 'format']
  execFileSync(java, [...tool, '-t', id, '-c', properties], { stdio: ['ignore', 'ignore', 2] })
}

/** One node cannot replicate; everything else is what production would meet, only smaller. */
function serverProperties(dir: string, port: number, controllerPort: number): string {
  return `${[
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.voters=1@127.0.0.1:${controllerPort}`,
    'controller.listener.names=CONTROLLER',
    'listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    `listeners=PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    `advertised.listeners=PLAINTEXT://127.0.0.1:${port}`,
    `log.dirs=${join(dir, 'data')}`,
    'auto.create.topics.enable=false',
    'offsets.topic.replication.factor=1',
    'offsets.topic.num.partitions=4',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.min.isr=1',
    'transaction.state.log.num.partitions=2',
    'share.coordinator.state.topic.replication.factor=1',
    'share.coordinator.state.topic.min.isr=1',
    'share.coordinator.state.topic.num.partitions=1',
    'group.initial.rebalance.delay.ms=0',
    'group.min.session.timeout.ms=1000',
    // A killed broker may register again only when its old session has ended.
    'broker.session.timeout.ms=6000',
    'broker.heartbeat.interval.ms=1000',
    'log.cleaner.backoff.ms=1000',
  ].join('\n')}\n`
}
