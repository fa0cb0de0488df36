/** One seed from its first moment to its verdict. */

import { checkAll } from './checks.ts'
import { coverageOf } from './coverage.ts'
import { editOnce, setUp, startAgents } from './editors.ts'
import { runExecutor, type Workplace } from './executors.ts'
import { createFacts } from './facts.ts'
import { startFaultDriver } from './fault-driver.ts'
import { createProducer } from './producers.ts'
import { isQuiet } from './quiet.ts'
import { judged } from './seed-result.ts'
import { startWork, untilQuiet } from './seed-work.ts'
import type { SeedResult } from './sim-world.ts'
import { AGENTS } from './subscription-plan.ts'
import type { Bug } from './world.ts'
import { createWorld, TENANTS } from './world.ts'

export interface SeedOptions {
  seed: number
  /** Events that producers send. */
  events: number
  isFaultless?: boolean
  bug?: Bug
}

/**
 * How long after the last fault everything must be finished, simulated ms: a cooldown of seconds
 * lets the groups that wait behind it go one after the other.
 */
const QUIET_MS = 180_000

/** Runs a seed; the same seed gives the same result. */
export async function runSeed({
  seed,
  events,
  isFaultless,
  bug,
}: SeedOptions): Promise<SeedResult> {
  const world = createWorld({ seed, isFaultless, bug })
  const { clock, history } = world
  const facts = createFacts()
  let isOver = false
  const producer = createProducer(world, facts, world.random.fork('producer'))
  const place: Workplace = { world, facts, producer, isOver: () => isOver }
  const work = startWork(facts, () => playWork(place, events))
  await clock.run(clock.now() + 30 * 60_000, () => work.isDone())
  world.calm()
  history.incident('quiet')
  void startAgents(place)
  const isFinished = await untilQuiet(world, {
    settleMs: 8000,
    untilMs: clock.now() + QUIET_MS,
    isQuiet: () => isQuiet(world),
  })
  isOver = true
  await bug?.unplant?.()
  const violations = await checkAll(world, facts, { isFinished })
  return judged(world, seed, violations, coverageOf(world))
}

/** Starts everybody; resolves when all events are sent and all edits are made. */
async function playWork(place: Workplace, events: number): Promise<void> {
  const { world } = place
  const random = world.random.fork('work')
  const known = await setUp(place, random.fork('set-up'))
  for (const tenant of TENANTS) {
    for (const agent of AGENTS) {
      const count = random.between(1, 2)
      for (let n = 1; n <= count; n++) {
        const executor = `${agent}-${n}`
        const own = random.fork(`${tenant}/${executor}`)
        void runExecutor(place, { tenant, agent, executor }, own)
      }
    }
  }
  startFaultDriver(world, random.fork('faults'), { phaseMs: events * 110 })
  await Promise.all([produce(place, random.fork('events'), events), edit(place, known, random)])
}

async function produce(place: Workplace, random: Workplace['world']['random'], events: number) {
  const { clock } = place.world
  const sending: Promise<void>[] = []
  for (let n = 0; n < events; ) {
    const burst = random.chance(0.15) ? random.between(3, 15) : 1
    for (let each = 0; each < burst && n < events; each++, n++) {
      if (burst > 1) place.world.faults.note('F27')
      sending.push(place.producer.send())
    }
    await clock.sleep(random.between(0, burst * 200))
  }
  await Promise.all(sending)
}

async function edit(
  place: Workplace,
  known: Map<string, string[]>,
  random: Workplace['world']['random'],
): Promise<void> {
  const own = random.fork('edits')
  const count = own.between(8, 24)
  for (let n = 0; n < count; n++) {
    await place.world.clock.sleep(own.between(100, 3000))
    await editOnce(place, known, own.fork(String(n)))
  }
}
