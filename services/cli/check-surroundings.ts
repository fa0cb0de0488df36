/** What `doctor` looks at around the API: settings, data folder, Kafka, Redis, registry. */
import { readConfiguration } from '#kernel/host/configuration.ts'
import type { Check } from './check-api.ts'
import type { CliWorld, CommandContext } from './command.ts'
import { dataFolder } from './find-connection.ts'
import { topicSettings } from './topic-settings.ts'

/** Built-in SQLite and Temporal come with it. */
const NODE_MAJOR_MIN = 26

/** Each check by itself; none rejects. */
export async function checkSurroundings(context: CommandContext): Promise<Check[]> {
  const { env } = context.world
  return [
    checkRuntime(process.versions.node),
    checkSettings(env),
    await checkDataFolder(context.world),
    await checkKafka(context),
    await checkRedis(context.world),
    await checkRegistry(context.world),
  ]
}

function checkRuntime(version: string): Check {
  const isEnough = Number(version.split('.')[0]) >= NODE_MAJOR_MIN
  const check = 'runtime'
  if (isEnough) return { check, state: 'ok', found: `Node ${version}` }
  const todo = 'Start it with `npm start` or `npm run ambit`: they bring the right one.'
  return { check, state: 'failed', found: `Node ${version}, needs ${NODE_MAJOR_MIN}`, todo }
}

function checkSettings(env: CliWorld['env']): Check {
  const check = 'settings'
  try {
    readConfiguration({ ...env })
    return { check, state: 'ok', found: 'the AMBIT_ variables fit together' }
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error)
    // A service would not start with them; a person's shell may well lack its secrets.
    const todo = 'A service started from here would stop; see docs/configuration.md.'
    return { check, state: 'warning', found, todo }
  }
}

async function checkDataFolder(world: CliWorld): Promise<Check> {
  const folder = dataFolder(world.env)
  const check = 'data folder'
  const problem = await world.folderProblem(folder)
  if (problem === undefined) return { check, state: 'ok', found: `${folder} can be written` }
  if (problem === 'ENOENT') {
    return { check, state: 'not configured', found: `${folder} is made at the first start` }
  }
  const todo = `Give this user access to ${folder}, or name another with AMBIT_DATA_DIR.`
  return { check, state: 'failed', found: `${folder}: ${problem}`, todo }
}

async function checkKafka({ flags, world }: CommandContext): Promise<Check> {
  const check = 'kafka'
  if (!world.env.AMBIT_KAFKA_BROKERS) return notConfigured(check, 'AMBIT_KAFKA_BROKERS')
  return guarded(check, 'Check AMBIT_KAFKA_BROKERS and that the brokers run.', async () => {
    const settings = topicSettings(flags, world.env)
    const topics = world.infra.topics(settings)
    try {
      const steps = await topics.diff()
      const found = `${settings.brokers.join(',')} answers, ${steps.length} topics to change`
      if (steps.length === 0) return { check, state: 'ok', found }
      const todo = 'See `ambit topics diff`; `ambit topics apply` does it.'
      return { check, state: 'warning', found, todo }
    } finally {
      await topics.stop()
    }
  })
}

async function checkRedis({ env, infra }: CliWorld): Promise<Check> {
  const check = 'redis'
  const url = env.AMBIT_REDIS_URL
  if (!url) return notConfigured(check, 'AMBIT_REDIS_URL')
  const todo = 'Check AMBIT_REDIS_URL, that Redis runs, and maxmemory-policy noeviction.'
  return guarded(check, todo, async () => {
    await infra.redis(url)
    return { check, state: 'ok', found: `${withoutPassword(url)} answers and never evicts` }
  })
}

async function checkRegistry({ env, fetch }: CliWorld): Promise<Check> {
  const check = 'schema registry'
  const url = env.AMBIT_SCHEMA_REGISTRY_URL
  if (!url) return notConfigured(check, 'AMBIT_SCHEMA_REGISTRY_URL')
  const todo = 'Check AMBIT_SCHEMA_REGISTRY_URL and that the registry runs.'
  return guarded(check, todo, async () => {
    const base = url.replace(/\/+$/, '')
    const response = await fetch(`${base}/config`, { signal: AbortSignal.timeout(5000) })
    if (!response.ok) throw new Error(`${withoutPassword(url)} answers ${response.status}`)
    const { compatibilityLevel = 'NONE' } = (await response.json()) as {
      compatibilityLevel?: string
    }
    const found = `${withoutPassword(url)} answers, compatibility ${compatibilityLevel}`
    if (/^(BACKWARD|FULL)/.test(compatibilityLevel)) return { check, state: 'ok', found }
    return { check, state: 'warning', found, todo: 'Set its compatibility to BACKWARD.' }
  })
}

async function guarded(check: string, todo: string, work: () => Promise<Check>): Promise<Check> {
  try {
    return await work()
  } catch (error) {
    const found = error instanceof Error ? error.message : String(error)
    return { check, state: 'failed', found, todo }
  }
}

function notConfigured(check: string, name: string): Check {
  return { check, state: 'not configured', found: `${name} is not set` }
}

function withoutPassword(url: string): string {
  const parsed = URL.parse(url)
  return parsed ? `${parsed.protocol}//${parsed.host}${parsed.pathname}` : 'the address'
}
