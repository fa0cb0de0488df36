/**
 * The way from an event to its message, through the judge and without it: the same events, once to
 * subscriptions with a condition that each of them meets, once to the same without. The model
 * answers at once and no candidate waits for others, so that what is left is ours.
 */
import { type Host, withHost } from '../pipeline/children.ts'
import { type DriveResult, drive, subscribe } from '../pipeline/drive.ts'
import { JUDGE, startCountedModel } from './counted-model.ts'

const PACED = { events: 200, rate: 40 }
const FULL = { events: 1000, rate: 0 }

/** One way: ms at a steady pace, and events per second as fast as it goes. */
export interface Way {
  p50: number
  p99: number
  perSecond: number
}

/** @throws Error when an event was lost or came twice. */
export async function measureWays(): Promise<{ judged: Way; declarative: Way }> {
  const server = await startCountedModel({ answerMs: 0, isMet: () => true })
  const settings = {
    ...{ AMBIT_EVALUATOR_BASE_URL: server.baseUrl, AMBIT_EVALUATOR_API_KEY: 'k' },
    ...{ AMBIT_EVALUATOR_MODEL: JUDGE, AMBIT_EVALUATOR_BATCH_WAIT_MS: '0' },
  }
  try {
    return await withHost(() => settings, measureTwice)
  } finally {
    await server.close()
  }
}

async function measureTwice({ url }: Host): Promise<{ judged: Way; declarative: Way }> {
  const condition = { criterion: 'an order was updated' }
  await subscribe(url, { ...loadOf('judged'), condition })
  await subscribe(url, loadOf('declarative'))
  const [judgedFirst, declarativeFirst] = await measureBoth(url)
  const [judged, declarative] = await measureBoth(url)
  return {
    judged: better(judgedFirst, judged),
    declarative: better(declarativeFirst, declarative),
  }
}

const loadOf = (kind: string) => ({ agent: kind, type: `bench.${kind}` })

async function measureBoth(url: string): Promise<[judged: Way, declarative: Way]> {
  return [await measureWay(url, 'judged'), await measureWay(url, 'declarative')]
}

async function measureWay(url: string, kind: string): Promise<Way> {
  const options = {
    ...{ url, claimUrl: url, isCompleting: true, ...loadOf(kind) },
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
