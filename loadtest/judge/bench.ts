/**
 * Judging beside doing without it: model calls of a day beside an agent woken for every event,
 * polls of shared observations beside one poll per subscription, and the way through the judge
 * beside the same way without a condition.
 */
import { parseArgs } from 'node:util'
import { type Figure, figure, writeFigures } from '../figures.ts'
import { countOurs, countTheirs, type OurCalls, type Spent } from './compare-calls.ts'
import { countPolls } from './count-polls.ts'
import { measureWays } from './judge-way.ts'
import { shopEvents } from './workload.ts'

/** As long as a small model takes for an answer, so that batches form as they would. */
const BATCHED = { batchMax: 8, answerMs: 300 }
const ONE_BY_ONE = { batchMax: 1, answerMs: 0 }

/** `bench judge [--json FILE] [--events N]`: prints one line per figure. */
export async function benchJudge(argv: readonly string[]): Promise<Figure[]> {
  const { values } = parseArgs({
    args: [...argv],
    options: { json: { type: 'string' }, events: { type: 'string', default: '1000' } },
  })
  const figures = [
    ...(await callFigures(Number(values.events))),
    ...(await pollFigures()),
    ...(await wayFigures()),
  ]
  writeFigures('judge', figures, values.json)
  return figures
}

/** A day of events; once more with one item per call, as where events are few and far between. */
async function callFigures(count: number): Promise<Figure[]> {
  const events = shopEvents(count)
  const theirs = await countTheirs(events)
  return [
    ...perThousand('judge', count, await countOurs(events, BATCHED), theirs),
    ...perThousand('judge.oneByOne', count, await countOurs(events, ONE_BY_ONE), theirs),
  ]
}

function perThousand(name: string, events: number, ours: OurCalls, theirs: Spent): Figure[] {
  const per = (amount: number) => (amount * 1000) / events
  const { all, judging, woken } = ours
  return [
    figure(`${name}.callsPer1000`, per(all.calls), per(theirs.calls)),
    figure(`${name}.tokensPer1000`, per(all.tokens), per(theirs.tokens)),
    figure(`${name}.moneyPer1000`, per(all.money), per(theirs.money)),
    figure(`${name}.judgingCallsPer1000`, per(judging.calls), null),
    figure(`${name}.wokenPer1000`, per(woken), per(theirs.calls)),
  ]
}

async function pollFigures(): Promise<Figure[]> {
  const { ours, theirs } = await countPolls()
  return [figure('judge.pollsPerInterval', ours, theirs)]
}

/** Ours goes through the judge, theirs is the same way without a condition. */
async function wayFigures(): Promise<Figure[]> {
  const { judged, declarative } = await measureWays()
  return [
    figure('judge.way.p50Ms', judged.p50, declarative.p50),
    figure('judge.way.p99Ms', judged.p99, declarative.p99),
    figure('judge.way.eventsPerSecond', judged.perSecond, declarative.perSecond),
  ]
}
