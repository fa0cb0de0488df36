/**
 * How often a server is asked for what many subscriptions want: a thousand of them on ten
 * observations, over several intervals, counted by the server itself.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withHost } from '../pipeline/children.ts'
import { call } from '../pipeline/drive.ts'

const SUBSCRIPTIONS = 1000
const OBSERVATIONS = 10
const EVERY_MS = 1000
const INTERVALS = 8
const AT_ONCE = 20
const FIRST_WITHIN_MS = 30_000

export interface PollsCounted {
  /** Polls of one interval, on average. */
  ours: number
  /** One poll for each subscription. */
  theirs: number
}

export async function countPolls(): Promise<PollsCounted> {
  const server = join(import.meta.dirname, 'counted-server.ts')
  const settingsFor = (directory: string) => {
    const queues = [process.execPath, server, pollsFile(directory)]
    return { AMBIT_MCP_COMMANDS: JSON.stringify({ queues }) }
  }
  return withHost(settingsFor, async ({ url, directory }) => {
    const file = pollsFile(directory)
    await connect(url)
    await subscribeAll(url)
    await allObserved(file)
    await delay(INTERVALS * EVERY_MS)
    const rates = pollsIn(file).map(perInterval)
    return { ours: rates.reduce((sum, rate) => sum + rate, 0), theirs: SUBSCRIPTIONS }
  })
}

const pollsFile = (directory: string) => join(directory, 'polls')

async function connect(url: string): Promise<void> {
  await call('PUT', `${url}/v1/connectors/queues`, {
    ...{ transport: 'stdio', command: 'queues' },
    allow: [{ operation: 'list_items' }],
    rateLimit: { perSecond: 1000, burst: 1000 },
  })
}

async function subscribeAll(url: string): Promise<void> {
  for (let from = 0; from < SUBSCRIPTIONS; from += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, n) => from + n)
    await Promise.all(
      numbers.map(n =>
        call('POST', `${url}/v1/subscriptions`, {
          ...{ name: `watch-${n}`, agent: 'bench', instruction: 'Look.' },
          observe: {
            ...{ connector: 'queues', operation: 'list_items', everyMs: EVERY_MS },
            ...{ arguments: { queue: n % OBSERVATIONS }, itemsPointer: '/items' },
          },
        }),
      ),
    )
  }
}

async function allObserved(file: string): Promise<void> {
  const deadline = performance.now() + FIRST_WITHIN_MS
  while (pollsIn(file).length < OBSERVATIONS) {
    if (performance.now() > deadline) throw new Error('not every observation was polled')
    await delay(200)
  }
}

/** Times of the polls of each queue that was asked for, ms. */
function pollsIn(file: string): number[][] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const polls = lines.map(line => line.split(' ').map(Number))
  return [...Map.groupBy(polls, ([queue]) => queue).values()].map(each =>
    each.map(([, at = 0]) => at),
  )
}

/** From the first poll to the last: what lies before and after is no whole interval. */
function perInterval(times: readonly number[]): number {
  const spanMs = (times.at(-1) ?? 0) - (times[0] ?? 0)
  return spanMs === 0 ? 0 : ((times.length - 1) * EVERY_MS) / spanMs
}
