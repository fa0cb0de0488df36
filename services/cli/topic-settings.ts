import type { CliWorld, Flags, OptionRow, TopicSettings } from './command.ts'
import { UsageError } from './usage-error.ts'

/** Options of the commands that talk to Kafka; the environment names are the services' own. */
export const TOPIC_OPTIONS = {
  brokers: { type: 'string', value: 'HOST:PORT', help: 'Brokers (AMBIT_KAFKA_BROKERS).' },
  prefix: { type: 'string', help: 'Prefix of topics (AMBIT_TOPIC_PREFIX). Default ambit.' },
  partitions: { type: 'string', value: 'N', help: 'Of new topics (AMBIT_PARTITIONS). Default 12' },
  'replication-factor': {
    type: 'string',
    value: 'N',
    help: 'Of new topics (AMBIT_REPLICATION). Default 1',
  },
  tenant: {
    type: 'string',
    multiple: true,
    help: 'Tenant whose ingress topic is wanted, too (AMBIT_TENANT). Default local',
  },
} as const satisfies Record<string, OptionRow>

/** Partitions of a distributed installation, as its services create them. */
const PARTITIONS = 12

/** Throws `UsageError` when no broker is named or a number is none. */
export function topicSettings(flags: Flags, env: CliWorld['env']): TopicSettings {
  const brokers = flags.text('brokers') ?? env.AMBIT_KAFKA_BROKERS ?? ''
  if (brokers === '') {
    throw new UsageError('No Kafka broker is named.', {
      expected: '--brokers HOST:PORT, or AMBIT_KAFKA_BROKERS',
      todo: 'The embedded product has no topics to apply; this is for distributed installations.',
    })
  }
  const tenants = flags.texts('tenant')
  return {
    brokers: brokers.split(',').map(broker => broker.trim()),
    prefix: flags.text('prefix') ?? env.AMBIT_TOPIC_PREFIX ?? 'ambit.',
    partitions: flags.count('partitions', 1) ?? numberOf(env, 'AMBIT_PARTITIONS') ?? PARTITIONS,
    replicationFactor:
      flags.count('replication-factor', 1) ?? numberOf(env, 'AMBIT_REPLICATION') ?? 1,
    tenants: tenants.length > 0 ? tenants : [env.AMBIT_TENANT || 'local'],
  }
}

function numberOf(env: CliWorld['env'], name: string): number | undefined {
  const text = env[name]
  if (!text) return undefined
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text)
  throw new UsageError(`${name} needs a whole number.`, { expected: 'at least 1', came: text })
}
