/**
 * How often a server is asked for what many subscriptions want: a thousand of them on ten
 * observations, over several intervals, counted by the server itself.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startChild } from '../pipeline/children.ts'
import { call } from '../pipeline/drive.ts'

const KEY = 'bench-key-bench-key-0123'
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
  const directory = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const file = join(directory, 'polls')
  const server = [process.execPath, join(import.meta.dirname, 'counted-server.ts'), file]
  const program = join(import.meta.dirname, '../../services/embedded/main.ts')
  const host = await startChild(program, ['--empty', '--port', '0', '--data', directory], {
    AMBIT_API_KEY: KEY,
    AMBIT_MCP_COMMANDS: JSON.stringify({ queues: server }),
  })
  try {
    await connect(host.url)
    await subscribeAll(host.url)
    await allObserved(file)
    await delay(INTERVALS * EVERY_MS)
    const rates = pollsIn(file).map(perInterval)
    return { ours: rates.reduce((sum, rate) => sum + rate, 0), theirs: SUBSCRIPTIONS }
  } finally {
    await host.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function connect(url: string): Promise<void> {
  const response = await fetch(`${url}/v1/connectors/queues`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ transport: 'stdio', command: 'queues' },
      allow: [{ operation: 'list_items' }],
      rateLimit: { perSecond: 1000, burst: 1000 },
    }),
  })
  if (!response.ok) throw new Error(`the connector was refused: ${await response.text()}`)
}

async function subscribeAll(url: string): Promise<void> {
  for (let from = 0; from < SUBSCRIPTIONS; from += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, n) => from + n)
    await Promise.all(
      numbers.map(n =>
        call(`${url}/v1/subscriptions`, KEY, {
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
