/**
 * Matching beside its peer: the same subscriptions and the same JSON texts of events, parsed by
 * both inside the measured loop, with warm-up, the best of equally many passes in turns, and the
 * same count of matches. A second workload grows only by subscriptions that match nothing.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type Figure, figure, writeFigures } from '../figures.ts'
import { type Figures, measureRuler, prepareRuler, type Rounds } from './peer/ruler.ts'
import { writeGrowthWorkload, writeWorkload } from './workload.ts'

interface OurFigures extends Figures {
  rssBytes: number
  emptyBytes: number
}

const SIZES = [1_000, 10_000, 100_000]
const EVENTS = 20_000
const ROUNDS: Rounds = { warmups: 5, passes: 5 }
const TURNS = 2

/**
 * `bench match [--json FILE] [--data DIR]`: prints one line per figure. `--data` names a directory
 * with workloads made before, as `<subscriptions>/subs.jsonl` and `events.jsonl`.
 *
 * @throws Error when both sides do not count the same matches.
 */
export function benchMatch(argv: readonly string[]): Figure[] {
  const { values } = parseArgs({
    args: [...argv],
    options: { json: { type: 'string' }, data: { type: 'string' } },
  })
  const root = values.data ?? fs.mkdtempSync(path.join(os.tmpdir(), 'ambit-match-'))
  try {
    const classPath = prepareRuler()
    const figures = SIZES.flatMap(size => compare(classPath, root, size))
    figures.push(...growth(root))
    writeFigures('match', figures, values.json)
    return figures
  } finally {
    if (values.data === undefined) fs.rmSync(root, { recursive: true, force: true })
  }
}

function compare(classPath: string, root: string, size: number): Figure[] {
  const directory = path.join(root, String(size))
  if (!fs.existsSync(path.join(directory, 'subs.jsonl'))) {
    writeWorkload({ subscriptions: size, events: EVENTS, directory })
  }
  let ours = measureOurs(directory)
  let theirs = measureRuler(classPath, directory, ROUNDS)
  for (let turn = 1; turn < TURNS; turn++) {
    ours = better(ours, measureOurs(directory))
    theirs = better(theirs, measureRuler(classPath, directory, ROUNDS))
  }
  if (ours.matches !== theirs.matches) {
    throw new Error(`match counts differ at ${size}: ours ${ours.matches}, peer ${theirs.matches}`)
  }
  const megabytes = (bytes: number) => bytes / 2 ** 20
  return [
    figure(`match.${size}.eventsPerSecond`, ours.eventsPerSecond, theirs.eventsPerSecond),
    figure(`match.${size}.loadMs`, ours.loadMs, theirs.loadMs),
    figure(`match.${size}.warmLoadMs`, ours.warmLoadMs, theirs.warmLoadMs),
    figure(`match.${size}.heapMiB`, megabytes(ours.heapBytes), megabytes(theirs.heapBytes)),
    figure(`match.${size}.rssMiB`, megabytes(ours.rssBytes), null),
    figure(`match.${size}.matches`, ours.matches, theirs.matches),
  ]
}

/** The better speed and load time of two runs, so that a busy moment counts for neither side. */
function better<T extends Figures>(one: T, other: T): T {
  return {
    ...one,
    eventsPerSecond: Math.max(one.eventsPerSecond, other.eventsPerSecond),
    loadMs: Math.min(one.loadMs, other.loadMs),
    warmLoadMs: Math.min(one.warmLoadMs, other.warmLoadMs),
  }
}

/** What an event costs with a hundred times more subscriptions that do not match it. */
function growth(root: string): Figure[] {
  const ends = [SIZES[0] ?? 0, SIZES.at(-1) ?? 0]
  const runs = ends.map(subscriptions => {
    const directory = path.join(root, `growth-${subscriptions}`)
    writeGrowthWorkload({ subscriptions, events: EVENTS, directory })
    return { subscriptions, directory, best: measureOurs(directory) }
  })
  for (let turn = 1; turn < TURNS; turn++) {
    for (const run of runs) run.best = better(run.best, measureOurs(run.directory))
  }
  const microseconds = runs.map(({ subscriptions, best: { eventsPerSecond, matches } }) => {
    return { subscriptions, cost: 1e6 / eventsPerSecond, matches }
  })
  const [few, many] = microseconds
  if (few === undefined || many === undefined || few.matches !== many.matches) {
    throw new Error('the growth workload must match equally often at every size')
  }
  return [
    ...microseconds.map(({ subscriptions, cost }) =>
      figure(`match.growth.${subscriptions}.microsecondsPerEvent`, cost, null),
    ),
    figure('match.growth.costRatio', many.cost / few.cost, null),
  ]
}

function measureOurs(directory: string): OurFigures {
  const program = path.join(import.meta.dirname, 'measure.ts')
  const args = ['--expose-gc', program, directory, String(ROUNDS.warmups), String(ROUNDS.passes)]
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
}
