/**
 * The way from an event to its message, through the judge and without it: the same events, once to
 * subscriptions with a condition that each of them meets, once to the same without. The model
 * answers at once and no candidate waits for others, so that what is left is ours.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChild } from '../pipeline/children.ts'
import { call, type DriveResult, drive } from '../pipeline/drive.ts'
import { JUDGE, startCountedModel } from './counted-model.ts'

const KEY = 'bench-key-bench-key-0123'
const PACED = { events: 200, rate: 40 }
const FULL = { events: 1000, rate: 0 }
const SUBSCRIPTIONS = 8
/** Sources that the load spreads over. */
const SOURCES = 64

/** One way: ms at a steady pace, and events per second as fast as it goes. */
export interface Way {
  p50: number
  p99: number
  perSecond: number
}

/** @throws Error when an event was lost or came twice. */
export async function measureWays(): Promise<{ judged: Way; declarative: Way }> {
  const server = await startCountedModel({ answerMs: 0, isMet: () => true })
  const directory = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const program = join(import.meta.dirname, '../../services/embedded/main.ts')
  const host = await startChild(program, ['--empty', '--port', '0', '--data', directory], {
    ...{ AMBIT_API_KEY: KEY, AMBIT_EVALUATOR_BASE_URL: server.baseUrl },
    ...{ AMBIT_EVALUATOR_API_KEY: 'k', AMBIT_EVALUATOR_MODEL: JUDGE },
    AMBIT_EVALUATOR_BATCH_WAIT_MS: '0',
  })
  try {
    const condition = { criterion: 'an order was updated' }
    await subscribe(host.url, 'judged', { condition })
    await subscribe(host.url, 'declarative', {})
    const [judgedFirst, declarativeFirst] = await measureBoth(host.url)
    const [judged, declarative] = await measureBoth(host.url)
    return {
      judged: better(judgedFirst, judged),
      declarative: better(declarativeFirst, declarative),
    }
  } finally {
    await host.stop()
    await server.close()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function subscribe(url: string, kind: string, more: object): Promise<void> {
  await fetch(`${url}/v1/agents/${kind}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ maxConcurrentLeases: 1000 }),
  })
  const share = SOURCES / SUBSCRIPTIONS
  for (let n = 0; n < SUBSCRIPTIONS; n++) {
    const sources = Array.from({ length: share }, (_, k) => `/load/${n * share + k}`)
    await call(`${url}/v1/subscriptions`, KEY, {
      ...{ name: `${kind}-${n}`, agent: kind, instruction: 'Measure.' },
      ...{ on: { types: [`bench.${kind}`], sources }, limits: { storm: null }, ...more },
    })
  }
}

async function measureBoth(url: string): Promise<[judged: Way, declarative: Way]> {
  return [await measureWay(url, 'judged'), await measureWay(url, 'declarative')]
}

async function measureWay(url: string, kind: string): Promise<Way> {
  const options = {
    ...{ url, claimUrl: url, key: KEY, isCompleting: true, agent: kind, type: `bench.${kind}` },
    ...{ batch: 50, claimers: 4, senders: 8 },
  }
  const { perSecond } = complete(await drive({ ...options, ...FULL }))
  const { p50, p99 } = complete(await drive({ ...options, ...PACED }))
  return { p50, p99, perSecond }
}

/** The better of two turns, so that a busy moment and a cold start count for neither side. */
function better(one: Way, other: Way): Way {
  return {
    p50: Math.min(one.p50, other.p50),
    p99: Math.min(one.p99, other.p99),
    perSecond: Math.max(one.perSecond, other.perSecond),
  }
}

function complete(result: DriveResult): DriveResult {
  const { lost, doubled } = result
  if (lost === 0 && doubled === 0) return result
  throw new Error(`${lost} events were lost and ${doubled} came twice`)
}
