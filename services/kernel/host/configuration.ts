/**
 * Configuration: read once from `AMBIT_…` variables, checked, frozen. Every row states unit,
 * default and meaning; docs/configuration.md is generated from it.
 */
import { z } from 'zod'
import { AmbitError } from '#kernel/errors.ts'
import { parseMcpCommands } from './mcp-commands.ts'
import { priceTable } from './price-table.ts'

const integer = (min: number, max: number) => z.coerce.number().int().min(min).max(max)
/** Origins with commas, each written as WHATWG URL writes it, so that they compare as text. */
const origins = z
  .string()
  .transform(text => text.split(',').filter(part => part !== ''))
  .refine(list => list.every(isOrigin), 'Each must be an origin such as http://127.0.0.1:9000')
const flag = z.enum(['true', 'false', '1', '0']).transform(text => text === 'true' || text === '1')

/** Least length of a key that signs lease handles and seals secrets, in characters. */
export const SECRET_KEY_MIN = 32

export const SETTINGS = {
  AMBIT_HOST: z.string().default('127.0.0.1').describe('Address to listen on.'),
  AMBIT_PORT: integer(0, 65_535).default(7171).describe('Port to listen on; 0 takes a free one.'),
  AMBIT_DATA_DIR: z.string().default('.ambit').describe('Folder of local state.'),
  AMBIT_API_KEY: z
    .string()
    .min(16)
    .optional()
    .describe('Key of the administrator of tenant `local`, at least 16 characters.'),
  AMBIT_TENANT: z
    .string()
    .default('local')
    .describe('Tenant of webhook calls that name none, and of the embedded host.'),
  AMBIT_KAFKA_BROKERS: z
    .string()
    .optional()
    .describe('Brokers, `host:port` with commas; with it the host is distributed.'),
  AMBIT_KAFKA_TLS: flag.default(false).describe('Talk TLS to the brokers.'),
  AMBIT_KAFKA_USERNAME: z.string().optional().describe('SASL user of the brokers.'),
  AMBIT_KAFKA_PASSWORD: z.string().optional().describe('SASL password of the brokers.'),
  AMBIT_KAFKA_MECHANISM: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512'])
    .default('scram-sha-512')
    .describe('SASL mechanism, where a user is given.'),
  AMBIT_TOPIC_PREFIX: z.string().default('ambit.').describe('Prefix of every topic and subject.'),
  AMBIT_PARTITIONS: integer(1, 512)
    .optional()
    .describe('Partitions of every topic, fixed at creation. Default 12, embedded 4.'),
  AMBIT_REPLICATION: integer(1, 9).default(1).describe('Replication factor of new topics.'),
  AMBIT_TOPICS_APPLY: flag
    .default(true)
    .describe('Create missing topics at start; turn off where a job does it.'),
  AMBIT_REDIS_URL: z.string().optional().describe('Redis of the distributed host.'),
  AMBIT_REDIS_PREFIX: z.string().default('ambit:').describe('Prefix of every Redis key.'),
  AMBIT_SCHEMA_REGISTRY_URL: z
    .string()
    .optional()
    .describe('Confluent-compatible registry; schema ids are local without one.'),
  AMBIT_SCHEMA_REGISTRY_USERNAME: z.string().optional().describe('User of the registry.'),
  AMBIT_SCHEMA_REGISTRY_PASSWORD: z.string().optional().describe('Password of the registry.'),
  AMBIT_SECRET_KEYS: z
    .string()
    .refine(
      text => text.split(',').every(key => key.length >= SECRET_KEY_MIN),
      `Each key needs at least ${SECRET_KEY_MIN} characters`,
    )
    .optional()
    .describe(
      'Keys that sign lease handles and seal secrets, 32 characters or more each, newest ' +
        'first, with commas. The embedded host makes one.',
    ),
  AMBIT_CONTINUITY_MS: integer(1000, 86_400_000)
    .default(3_600_000)
    .describe('Ms the execution plane goes on without a sign of the control plane.'),
  AMBIT_RATE_PER_SECOND: integer(0, 1_000_000)
    .default(0)
    .describe('HTTP requests per second and address; 0 sets no limit.'),
  AMBIT_ALLOW_UNVERIFIED: flag
    .default(false)
    .describe('Allow webhook sources with the scheme `none`.'),
  AMBIT_OUTGOING_ALLOW: origins
    .prefault('')
    .describe(
      'Origins, `http://127.0.0.1:9000` with commas, that outgoing calls may reach although they ' +
        'are not https or not public. For development only.',
    ),
  AMBIT_MCP_COMMANDS: z
    .string()
    .default('{}')
    .transform((text, context) => {
      const commands = parseMcpCommands(text)
      if (!commands) context.addIssue('Expected JSON such as {"tickets":["node","server.ts"]}')
      return commands ?? {}
    })
    .describe(
      'Local MCP servers that connectors may start, as JSON: a name for each command with its ' +
        'arguments, `{"tickets":["node","server.ts"]}`. None by default.',
    ),
  AMBIT_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Least severity that is logged.'),
  AMBIT_EVALUATOR_BASE_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'Server of the judging model, up to the version (`https://api.openai.com/v1`); any that ' +
        'speaks the Responses API. Without it and a key the agent’s model judges, and without ' +
        'that one the lexical judge, `offline`.',
    ),
  AMBIT_EVALUATOR_API_KEY: z
    .string()
    .optional()
    .describe('Key of the judging model; a server of your own may need none.'),
  AMBIT_EVALUATOR_MODEL: z
    .string()
    .optional()
    .describe(
      'Model that judges semantic conditions; `offline` is the lexical judge that calls nobody. ' +
        'Default `gpt-4.1-mini` where a server or key is given.',
    ),
  AMBIT_EVALUATOR_FALLBACK_MODEL: z
    .string()
    .optional()
    .describe('Model of the same server that is asked where the first one has failed.'),
  AMBIT_EVALUATOR_TIMEOUT_MS: integer(100, 600_000)
    .default(30_000)
    .describe('Ms for one whole call of the judging model, body included.'),
  AMBIT_EVALUATOR_MAX_ATTEMPTS: integer(1, 10)
    .default(3)
    .describe('Calls per candidate and model before its evaluation has failed; retries count.'),
  AMBIT_EVALUATOR_IN_FLIGHT_MAX: integer(1, 1000)
    .default(8)
    .describe('Calls of the judging model at once, in one process.'),
  AMBIT_EVALUATOR_BATCH_MAX: integer(1, 50)
    .default(8)
    .describe('Candidates of one subscription that are judged in one call.'),
  AMBIT_EVALUATOR_BATCH_WAIT_MS: integer(0, 60_000)
    .default(50)
    .describe('Ms that a candidate waits for others of its subscription to be judged with.'),
  AMBIT_EVALUATOR_OUTPUT_TOKENS: integer(64, 100_000)
    .default(600)
    .describe(
      'Ceiling of output tokens per call, to which 200 per further item are added; models that ' +
        'reason need several thousand. It is reserved from the budgets.',
    ),
  AMBIT_EVALUATOR_BREAKER_FAILURES: integer(1, 1000)
    .default(5)
    .describe('Failed calls in a row after which a model is left alone for a while.'),
  AMBIT_EVALUATOR_BREAKER_OPEN_MS: integer(100, 3_600_000)
    .default(30_000)
    .describe('Ms for which a model that failed is left alone before it is tried again.'),
  AMBIT_EVALUATOR_SUSPEND_AFTER: integer(1, 1000)
    .default(10)
    .describe('Failed evaluations in a row that suspend a subscription.'),
  AMBIT_EVALUATOR_PRICES: priceTable
    .prefault('')
    .describe(
      'Price table, `model=input/output` with commas: money per million tokens, in the currency ' +
        'of the policy. A model that is missing costs 0.',
    ),
  AMBIT_EVALUATOR_PRICES_DATE: z.iso
    .date()
    .optional()
    .describe('Day on which the prices were looked up, `2026-11-30`; needed with them.'),
  AMBIT_OIDC_ISSUER: z.string().optional().describe('Issuer of accepted access tokens.'),
  AMBIT_OIDC_AUDIENCE: z.string().optional().describe('Audience of accepted access tokens.'),
  AMBIT_OIDC_JWKS_URL: z.string().optional().describe('Where the issuer publishes its keys.'),
  AMBIT_OIDC_TENANT_CLAIM: z.string().default('tenant').describe('Claim that names the tenant.'),
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text
}

/** Variables of tools around the product, ignored here. */
const FOREIGN = /^AMBIT_(?:INFRA_|REQUIRE_INFRA|URL$|KEY$)/

const schema = z.object(SETTINGS)
export type Configuration = Readonly<z.output<typeof schema>>

/**
 * The parsed settings. Unknown and contradictory keys stop the start.
 *
 * @throws AmbitError `invalid` with the variable, what was expected, and what to do.
 */
export function readConfiguration(environment: Record<string, string | undefined>): Configuration {
  const given = Object.entries(environment).filter(
    ([name, value]) => name.startsWith('AMBIT_') && !FOREIGN.test(name) && value !== '',
  )
  const unknown = given.map(([name]) => name).filter(name => !Object.hasOwn(SETTINGS, name))
  if (unknown.length > 0) {
    throw new AmbitError(
      'invalid',
      `Unknown setting ${unknown.join(', ')}; known ones are listed in docs/configuration.md.`,
    )
  }
  const parsed = schema.safeParse(Object.fromEntries(given))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new AmbitError('invalid', `${issue?.path.join('.')}: ${issue?.message}. Correct it.`)
  }
  checkTogether(parsed.data)
  return Object.freeze(parsed.data)
}

function checkTogether(settings: Configuration): void {
  if (Boolean(settings.AMBIT_KAFKA_BROKERS) !== Boolean(settings.AMBIT_REDIS_URL)) {
    throw new AmbitError(
      'invalid',
      'AMBIT_KAFKA_BROKERS and AMBIT_REDIS_URL belong together; set both or neither.',
    )
  }
  if (settings.AMBIT_SCHEMA_REGISTRY_URL && !settings.AMBIT_KAFKA_BROKERS) {
    throw new AmbitError('invalid', 'AMBIT_SCHEMA_REGISTRY_URL needs AMBIT_KAFKA_BROKERS.')
  }
  if (settings.AMBIT_KAFKA_BROKERS && !settings.AMBIT_SECRET_KEYS) {
    throw new AmbitError(
      'invalid',
      'AMBIT_SECRET_KEYS is needed on Kafka, the same on every service: it signs lease handles.',
    )
  }
  if (settings.AMBIT_EVALUATOR_PRICES.length > 0 && !settings.AMBIT_EVALUATOR_PRICES_DATE) {
    throw new AmbitError(
      'invalid',
      'AMBIT_EVALUATOR_PRICES needs AMBIT_EVALUATOR_PRICES_DATE: prices change.',
    )
  }
  checkPairs(settings)
  const oidc = [
    settings.AMBIT_OIDC_ISSUER,
    settings.AMBIT_OIDC_AUDIENCE,
    settings.AMBIT_OIDC_JWKS_URL,
  ]
  if (oidc.some(Boolean) && !oidc.every(Boolean)) {
    throw new AmbitError('invalid', 'AMBIT_OIDC_ISSUER, _AUDIENCE and _JWKS_URL belong together.')
  }
}

function checkPairs(settings: Configuration): void {
  const pairs = [
    ['AMBIT_KAFKA_USERNAME', 'AMBIT_KAFKA_PASSWORD'],
    ['AMBIT_SCHEMA_REGISTRY_USERNAME', 'AMBIT_SCHEMA_REGISTRY_PASSWORD'],
  ] as const
  for (const [user, password] of pairs) {
    if (Boolean(settings[user]) === Boolean(settings[password])) continue
    throw new AmbitError('invalid', `${user} and ${password} belong together; set both or neither.`)
  }
}
