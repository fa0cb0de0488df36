/** How every part of the Kafka adapter reaches the brokers. */
import { connect as connectPlain, isIP } from 'node:net'
import { connect as connectTls } from 'node:tls'
import {
  type ISocketFactory,
  Kafka,
  type KafkaConfig,
  type LogEntry,
  logLevel,
  type SASLOptions,
} from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import loggers from 'kafkajs/src/loggers/index.js'

/** The part of pino that the adapter uses. */
export interface KafkaLogger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

/** Where the brokers are and what topics are called there. */
export interface KafkaSettings {
  /** `host:port` of some brokers; the others are learnt. */
  brokers: string[]
  /** Put before every topic name. Default `ambit.` */
  prefix?: string
  /** Shown in the brokers' logs and quotas. Default `ambit` */
  clientId?: string
  ssl?: KafkaConfig['ssl']
  sasl?: SASLOptions
  logger?: KafkaLogger
  /** Opens sockets; tests cut connections here. */
  socketFactory?: ISocketFactory
}

/** Makes clients and knows topic names on both sides of the port. */
export interface KafkaConnection {
  logger: KafkaLogger
  /** The name of a topic, or of a consumer group, on the broker. */
  outer(topic: string): string
  /** The name behind the port, or undefined for a topic that is not under the prefix. */
  inner(topic: string): string | undefined
  /** The public client, for producers and administration. */
  kafka: Kafka
  createCluster(): Cluster
}

const KEEP_ALIVE_MS = 60_000
const CONNECTION_TIMEOUT_MS = 3000
const REQUEST_TIMEOUT_MS = 10_000
const METADATA_AGE_MS = 300_000
/** Short, because every caller has its own retries around these. */
const RETRY = { retries: 3, initialRetryTime: 100, maxRetryTime: 1000 }

/** A connection to a cluster; nothing is opened before the first use. */
export function createKafkaConnection(settings: KafkaSettings): KafkaConnection {
  const { brokers, prefix = 'ambit.', clientId = 'ambit', ssl, sasl } = settings
  const { logger = silent, socketFactory = openSocket } = settings
  const logCreator = () => logTo(logger)
  const config = {
    brokers,
    clientId,
    ...(ssl === undefined ? {} : { ssl }),
    ...(sasl === undefined ? {} : { sasl }),
    socketFactory,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    enforceRequestTimeout: true,
    retry: RETRY,
  }
  return {
    logger,
    outer: topic => prefix + topic,
    inner: topic => (topic.startsWith(prefix) ? topic.slice(prefix.length) : undefined),
    kafka: new Kafka({ ...config, logLevel: logLevel.WARN, logCreator }),
    createCluster: () =>
      new Cluster({
        ...config,
        logger: loggers.createLogger({ level: logLevel.WARN, logCreator }),
        metadataMaxAge: METADATA_AGE_MS,
        allowAutoTopicCreation: false,
      }),
  }
}

/** kafkajs's default factory, plus no delay: Nagle's wait would be most of a hop. */
const openSocket: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  const name = isIP(host) ? {} : { servername: host }
  const socket = ssl
    ? connectTls({ host, port, ...name, ...(typeof ssl === 'object' ? ssl : {}) }, onConnect)
    : connectPlain({ host, port }, onConnect)
  return socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS)
}

const silent: KafkaLogger = { debug() {}, info() {}, warn() {} }

/** kafkajs logs every attempt as an error; what matters is logged once by the adapter itself. */
function logTo(logger: KafkaLogger): (entry: LogEntry) => void {
  return ({ namespace, log }) => {
    const { broker, groupId, retryCount } = log
    logger.debug({ kafkajs: namespace, broker, groupId, retryCount }, log.message)
  }
}

/** The protocol's name of an error, such as `REBALANCE_IN_PROGRESS`, else its class. */
export function kafkaErrorType(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'unknown'
  if ('type' in error && typeof error.type === 'string') return error.type
  if ('cause' in error && error.cause instanceof Error) return kafkaErrorType(error.cause)
  return 'name' in error && typeof error.name === 'string' ? error.name : 'unknown'
}
