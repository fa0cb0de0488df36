/**
 * The pipeline beside its floor, in one run: `bench pipeline [--kafka] [--json FILE]
 * [--events N]`. Latency is measured at 500 events per second, throughput at saturation; HTTP in to
 * mailbox message out, every event accounted for.
 */
import { parseArgs } from 'node:util'
import { type Figure, figure, writeFigures } from '../figures.ts'
import { readShape, runBareLoop } from './bare-loop.ts'
import { type Child, type Ends, withHost } from './children.ts'
import { type DriveResult, drive, subscribe } from './drive.ts'
import { startBareChain, startServices } from './kafka-chains.ts'

const LOAD = { agent: 'load', type: 'com.load.event' }
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
  return withHost(
    () => ({}),
    async ({ url, directory, stop }) => {
      const ends = { publish: url, claim: url, control: url }
      await subscribe(url, LOAD)
      const paced = await measure(ends, { events: LATENCY_EVENTS, rate: RATE, warmUp: true })
      const full = await measure(ends, { events, rate: 0, warmUp: false })
      await stop()
      const shape = readShape(directory, WARM_UP_EVENTS + LATENCY_EVENTS + events)
      const { batch, senders } = SATURATION
      const floor = await runBareLoop(shape, { events, batch, writers: senders })
      return [
        figure('embedded p50 at 500/s, ms', paced.p50, null),
        figure('embedded p99 at 500/s, ms', paced.p99, null),
        figure('embedded events/s', full.perSecond, floor),
        figure('embedded rows per event', shape.rowsPerEvent, null),
        ...accounts('embedded', [paced, full]),
      ]
    },
  )
}

async function benchKafka(events: number): Promise<Figure[]> {
  const bare = await withChildren(startBareChain, async ends => ({
    paced: await measure(ends, { events: LATENCY_EVENTS, rate: RATE, warmUp: true, isBare: true }),
    full: await measure(ends, { events, rate: 0, warmUp: false, isBare: true }),
  }))
  const ours = await withChildren(startServices, async ends => {
    await subscribe(ends.control, LOAD)
    return {
      paced: await measure(ends, { events: LATENCY_EVENTS, rate: RATE, warmUp: true }),
      full: await measure(ends, { events, rate: 0, warmUp: false }),
    }
  })
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

async function measure(
  ends: Ends,
  load: { events: number; rate: number; warmUp: boolean; isBare?: boolean },
): Promise<DriveResult> {
  const options = {
    url: ends.publish,
    claimUrl: ends.claim,
    isCompleting: load.isBare !== true,
    ...LOAD,
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
