/** One seed of a world with agents, from its first moment until everything is quiet. */

import { startFaultDriver } from '../fault-driver.ts'
import { FAULTS, type Fault } from '../faults.ts'
import { isQuiet } from '../quiet.ts'
import { startWork, untilQuiet } from '../seed-work.ts'
import { startServices } from '../services.ts'
import { type Acts, createWorld, PIPELINE_ROLES, type WorldPlan } from '../world.ts'
import { createAgentFacts } from './agent-facts.ts'
import { startAgentProcess } from './agent-process.ts'
import { type AgentBug, type AgentSim, ASSISTANT, WATCHER } from './agent-sim.ts'
import { answerQuestions, liveTogether, setUpAgents } from './people.ts'
import { readSessions } from './read-sessions.ts'

/**
 * Faults of this world. Left out are those of producers and editors (F3, F21, F22, F24, F26, F27,
 * F29), of MCP servers (F19), and F2 and F13, which the world of events plays.
 */
export const AGENT_FAULTS = (Object.keys(FAULTS) as Fault[]).filter(
  fault => !['F2', 'F3', 'F13', 'F19', 'F21', 'F22', 'F24', 'F26', 'F27', 'F29'].includes(fault),
)

const QUIET_MS = 120_000
const PHASE_MS = 30 * 60_000
/** Events that an order asks for stand for one turn of a person. */
const EVENTS_PER_TURN = 20

export interface AgentOrder {
  seed: number
  events: number
  isFaultless?: boolean
  bug?: AgentBug
}

export interface AgentRun {
  sim: AgentSim
  isFinished: boolean
}

/** Plays one seed; the same order plays the same. */
export async function playAgents(order: AgentOrder): Promise<AgentRun> {
  const { seed, events, isFaultless, bug } = order
  const facts = createAgentFacts()
  const drains: AgentSim['drains'] = new Map()
  const plan: WorldPlan = {
    roles: PIPELINE_ROLES,
    faults: AGENT_FAULTS,
    groups: ['mailbox-dispatcher', `agent.${ASSISTANT}`, 'guard', 'match'],
    nodes: [`${ASSISTANT}-1`, `${ASSISTANT}-2`, `${WATCHER}-1`].map(name => ({
      name,
      roles: ['agent'],
    })),
    start: (process, options, world) =>
      options.roles.includes('agent')
        ? startAgentProcess({ world, facts, bug, drains }, process, options)
        : startServices(process, options),
  }
  const world = createWorld({ seed, isFaultless, bug, plan })
  const sim: AgentSim = { world, facts, bug, drains }
  let isOver = false
  const turns = Math.max(3, Math.round(events / EVENTS_PER_TURN))
  const work = startWork(facts, () => playTurns(sim, turns))
  void answerQuestions(sim, world.random.fork('answers'), () => isOver)
  await world.clock.run(world.clock.now() + PHASE_MS, () => work.isDone())
  // What was asked for last shall meet faults too.
  await world.clock.run(world.clock.now() + 4000, () => false)
  world.calm()
  world.history.incident('quiet')
  const isFinished = await untilQuiet(world, {
    settleMs: 4000,
    untilMs: world.clock.now() + QUIET_MS,
    isQuiet: () => isAllQuiet(sim),
  })
  isOver = true
  await bug?.unplant?.()
  return { sim, isFinished }
}

async function playTurns(sim: AgentSim, turns: number): Promise<void> {
  const { world } = sim
  await setUpAgents(sim)
  const phaseMs = turns * 1500
  startFaultDriver(world, world.random.fork('driver'), { phaseMs })
  startFaultDriver(world, world.random.fork('trouble'), { phaseMs, acts: troubles(sim) })
  await liveTogether(sim, world.random.fork('people'), turns)
}

/** Faults that agents meet more often than other processes do. */
function troubles({ world, drains }: AgentSim): Acts {
  const agents = world.nodes.filter(({ roles }) => roles.includes('agent'))
  return {
    F1: (_, random) => world.crash(random.pick(agents).name, 'F1'),
    F8: async (_, random) => {
      const { process } = random.pick(agents)
      process?.freeze()
      await world.clock.sleep(random.pick([500, 2500, 4000, 7000]))
      process?.thaw()
    },
    F20: (_, random) => {
      world.log.compact(random.pick(['agent.sessions', 'agent.operations'] as const))
    },
    drain: async (_, random) => {
      const node = random.pick(agents)
      const name = node.process?.name ?? ''
      await Promise.race([drains.get(name)?.(), world.clock.sleep(3000)])
      if (node.process?.name === name) world.crash(node.name, 'drained')
    },
  }
}

/** Nothing is on its way, no operation is at work, and none waits to be told. */
function isAllQuiet({ world }: AgentSim): boolean {
  const isTold = (each: { delivery: string | null }) =>
    each.delivery !== null && each.delivery !== 'queued'
  return isQuiet(world) && [...readSessions(world).operations.values()].every(isTold)
}
