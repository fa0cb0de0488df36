/**
 * `npm run sim -- --seeds N --first S [--events E] [--world W] [--bug NAME] [--coverage]`: many
 * seeds on all cores. The last line is `N seeds, V violations`; the exit status is 1 when there
 * are any.
 */
import { spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import type { SeedOrder, SeedResult, SimWorld } from './sim-world.ts'
import { WORLDS } from './worlds.ts'

const linesOf = (all: SimWorld['bugs']) =>
  all.map(({ name, meaning }) => `    ${name}: ${meaning}\n`).join('')

const USAGE = `npm run sim -- [--seeds N] [--first S] [--events E] [--world W] [--bug NAME]
             [--calm] [--coverage]
  --seeds N     seeds to run, one after the other from --first. Default 20.
  --first S     first seed. Default 1.
  --events E    events that producers send in each. Default 300.
  --workers W   seeds at the same time. Default: one per core, at most 4.
  --world W     what is played. Default: pipeline.
${linesOf(WORLDS)}  --bug NAME    plants a bug of the world
  --calm        no faults
  --coverage    fails where a fault, fate or stage is reached in less than 1 % of the seeds
`

interface Settings {
  seeds: number
  first: number
  events: number
  workers: number
  world: SimWorld
  bug: string | undefined
  isFaultless: boolean
  isCovering: boolean
}

async function main(): Promise<number> {
  const settings = readSettings()
  if (typeof settings === 'string') {
    process.stderr.write(`${settings}\n${USAGE}`)
    return 2
  }
  const results = await runAll(settings)
  const failed = results.filter(({ violations }) => violations.length > 0)
  const violations = failed.reduce((sum, { violations: { length } }) => sum + length, 0)
  const thin = report(settings, results)
  process.stdout.write(`${results.length} seeds, ${violations} violations\n`)
  return violations > 0 || thin ? 1 : 0
}

function readSettings(): Settings | string {
  try {
    const { values } = parseArgs({
      options: {
        seeds: { type: 'string', default: '20' },
        first: { type: 'string', default: '1' },
        events: { type: 'string', default: '300' },
        workers: { type: 'string', default: String(Math.min(4, availableParallelism())) },
        world: { type: 'string', default: 'pipeline' },
        bug: { type: 'string' },
        calm: { type: 'boolean', default: false },
        coverage: { type: 'boolean', default: false },
      },
    })
    const [seeds, first, events, workers] = [
      values.seeds,
      values.first,
      values.events,
      values.workers,
    ].map(Number) as [number, number, number, number]
    const isCount = [seeds, first, events, workers].every(n => Number.isSafeInteger(n) && n > 0)
    if (!isCount) return 'Expected whole numbers above 0.'
    const { bug, calm, coverage } = values
    const world = WORLDS.find(({ name }) => name === values.world)
    if (!world) return `No world is named ${values.world}.`
    if (bug !== undefined && !world.bugs.some(({ name }) => name === bug))
      return `No bug of this world is named ${bug}. There are:\n${linesOf(world.bugs)}`
    return { seeds, first, events, workers, world, bug, isFaultless: calm, isCovering: coverage }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** A world leaves some memory behind; a fresh thread gives it back. */
const SEEDS_OF_A_WORKER = 20

/** Hands the next seed to whoever is free; prints violations as they come. */
async function runAll(settings: Settings): Promise<SeedResult[]> {
  const { seeds, first, workers, events, bug, isFaultless } = settings
  const world = settings.world.name
  const results: SeedResult[] = []
  let next = first
  const end = first + seeds
  const work = async () => {
    while (next < end) await workAwhile()
  }
  const workAwhile = () =>
    new Promise<void>((resolve, reject) => {
      const worker = new Worker(new URL('./seed-worker.ts', import.meta.url))
      let left = SEEDS_OF_A_WORKER
      const give = () => {
        const order = (seed: number): SeedOrder => ({ seed, events, isFaultless, bug })
        if (next < end && left-- > 0) worker.postMessage({ world, ...order(next++) })
        else void worker.terminate().then(() => resolve())
      }
      worker.on('message', (result: SeedResult) => {
        results.push(result)
        printResult(settings, result)
        progress(results.length, seeds)
        give()
      })
      worker.on('error', reject)
      give()
    })
  await Promise.all(Array.from({ length: Math.min(workers, seeds) }, work))
  if (process.stdout.isTTY) process.stdout.write('\r\u001b[K')
  return results.sort((a, b) => a.seed - b.seed)
}

function progress(done: number, all: number): void {
  if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K${done} of ${all} seeds`)
}

function printResult(
  { events, world, bug }: Settings,
  { seed, violations, trace }: SeedResult,
): void {
  if (violations.length === 0) return
  const lines = violations.map(({ invariant, text, ids }) => {
    return `  ${invariant}: ${text}${ids.length > 0 ? ` [${ids.join(', ')}]` : ''}`
  })
  const played = world.name === 'pipeline' ? '' : ` --world ${world.name}`
  const planted = played + (bug ? ` --bug ${bug}` : '')
  const replay = `npm run sim -- --seeds 1 --first ${seed} --events ${events}${planted}`
  const shown = bug ? [] : ['  last lines of the trace:', ...trace.map(line => `    ${line}`)]
  const text = [`seed ${seed}:`, ...lines, ...shown, `  replay: ${replay}`, `  commit: ${commit()}`]
  process.stdout.write(`${text.join('\n')}\n`)
}

function commit(): string {
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' })
  return stdout?.trim() || 'unknown'
}

/** In how many seeds everything was reached; answers whether something was too rare. */
function report({ isCovering, world }: Settings, results: SeedResult[]): boolean {
  const counts = new Map<string, number>()
  for (const { coverage } of results) {
    for (const name of coverage) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  const share = (name: string) => ((counts.get(name) ?? 0) * 100) / results.length
  const wanted = world.wanted()
  const rows = wanted.map(name => `${name.padEnd(20)} ${share(name).toFixed(1).padStart(6)} %`)
  if (isCovering || results.length >= 100) process.stdout.write(`reached in\n${columns(rows)}\n`)
  const thin = wanted.filter(name => share(name) < 1)
  if (!isCovering || thin.length === 0) return false
  process.stdout.write(`reached in less than 1 % of the seeds: ${thin.join(', ')}\n`)
  return true
}

function columns(rows: string[]): string {
  const height = Math.ceil(rows.length / 3)
  return Array.from({ length: height }, (_, at) =>
    [rows[at], rows[at + height], rows[at + 2 * height]]
      .filter(row => row !== undefined)
      .join('   '),
  ).join('\n')
}

process.exitCode = await main()
