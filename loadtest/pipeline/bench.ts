/**
 * The pipeline beside its floor, in one run: `bench pipeline [--kafka] [--json FILE]
 * [--events N]`. Latency is measured at 500 events per second, throughput at saturation; HTTP in to
 * mailbox message out, every event accounted for.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, figure, writeFigures } from '../figures.ts'
import { readShape, runBareLoop } from './bare-loop.ts'
import { type Child, type Ends, startChild } from './children.ts'
import { call, type DriveResult, drive } from './drive.ts'
import { startBareChain, startServices } from './kafka-chains.ts'

const KEY = 'bench-key-bench-key-0123'
const RATE = 500
const LATENCY_EVENTS = 5000
const WARM_UP_EVENTS = 1000
const SATURATION = { batch: 50, senders: 8 }

/** Runs the benchmark and prints one line per figure. */
export async function benchPipeline(argv: readonly string[]): Promise<Figure[]> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      kafka: { type: 'boolean', default: false },
      json: { type: 'string' },
      events: { type: 'string', default: '20000' },
    },
  })
  const events = Number(values.events)
  const figures = values.kafka ? await benchKafka(events) : await benchEmbedded(events)
  writeFigures('pipeline', figures, values.json)
  return figures
}

async function benchEmbedded(events: number): Promise<Figure[]> {
  const directory = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  const host = await startChild(
    join(import.meta.dirname, '../../services/embedded/main.ts'),
    ['--empty', '--port', '0', '--data', directory],
    { AMBIT_API_KEY: KEY },
  )
  const ends = { publish: host.url, claim: host.url, control: host.url }
  try {
    await subscribe(ends)
    const paced = await measure(ends, { events: LATENCY_EVENTS, rate: RATE, warmUp: true })
    const full = await measure(ends, { events, rate: 0, warmUp: false })
    await host.stop()
    const shape = readShape(directory, WARM_UP_EVENTS + LATENCY_EVENTS + events)
    const floor = await runBareLoop(shape, {
      events,
      batch: SATURATION.batch,
      writers: SATURATION.senders,
    })
    return [
      figure('embedded p50 at 500/s, ms', paced.p50, null),
      figure('embedded p99 at 500/s, ms', paced.p99, null),
      figure('embedded events/s', full.perSecond, floor),
      figure('embedded rows per event', shape.rowsPerEvent, null),
      ...accounts('embedded', [paced, full]),
    ]
  } finally {
    await host.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function benchKafka(events: number): Promise<Figure[]> {
  const bare = await withChildren(startBareChain, async ends => ({
    paced: await measure(ends, { events: LATENCY_EVENTS, rate: RATE, warmUp: true, isBare: true }),
    full: await measure(ends, { events, rate: 0, warmUp: false, isBare: true }),
  }))
  const ours = await withChildren(
    () => startServices(KEY),
    async ends => {
      await subscribe(ends)
      return {
        paced: await measure(ends, { events: LATENCY_EVENTS, rate: RATE, warmUp: true }),
        full: await measure(ends, { events, rate: 0, warmUp: false }),
      }
    },
  )
  return [
    figure('kafka p50 at 500/s, ms', ours.paced.p50, bare.paced.p50),
    figure('kafka p99 at 500/s, ms', ours.paced.p99, bare.paced.p99),
    figure('kafka events/s', ours.full.perSecond, bare.full.perSecond),
    ...accounts('kafka', [ours.paced, ours.full]),
  ]
}

async function withChildren<T>(
  start: () => Promise<{ children: Child[]; ends: Ends }>,
  work: (ends: Ends) => Promise<T>,
): Promise<T> {
  const { children, ends } = await start()
  try {
    return await work(ends)
  } finally {
    await Promise.all(children.map(child => child.stop()))
  }
}

/** One agent with room, eight subscriptions that share the sources of the load. */
async function subscribe({ control }: Ends): Promise<void> {
  const response = await fetch(`${control}/v1/agents/load`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ maxConcurrentLeases: 1000 }),
  })
  if (!response.ok) throw new Error(`the agent was refused: ${await response.text()}`)
  for (let n = 0; n < 8; n++) {
    const sources = Array.from({ length: 8 }, (_, k) => `/load/${n * 8 + k}`)
    await call(`${control}/v1/subscriptions`, KEY, {
      name: `load-${n}`,
      agent: 'load',
      instruction: 'Measure.',
      on: { types: ['com.load.event'], sources },
      limits: { storm: null },
    })
  }
}

async function measure(
  ends: Ends,
  load: { events: number; rate: number; warmUp: boolean; isBare?: boolean },
): Promise<DriveResult> {
  const options = {
    url: ends.publish,
    claimUrl: ends.claim,
    key: KEY,
    isCompleting: load.isBare !== true,
    agent: 'load',
    type: 'com.load.event',
    batch: SATURATION.batch,
    claimers: 4,
  }
  if (load.warmUp) await drive({ ...options, events: WARM_UP_EVENTS, rate: 200, senders: 32 })
  const senders = load.rate > 0 ? 32 : SATURATION.senders
  return drive({ ...options, events: load.events, rate: load.rate, senders })
}

function accounts(name: string, results: DriveResult[]): Figure[] {
  const sum = (pick: (result: DriveResult) => number) =>
    results.reduce((total, result) => total + pick(result), 0)
  const lost = sum(result => result.lost)
  const doubled = sum(result => result.doubled)
  return [figure(`${name} lost`, lost, null), figure(`${name} doubled`, doubled, null)]
}
