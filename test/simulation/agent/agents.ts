/** Agents at work, as `npm run sim -- --world agent` plays them. */
import { judged } from '../seed-result.ts'
import type { SeedResult, SimWorld } from '../sim-world.ts'
import { AGENT_BUGS } from './agent-bugs.ts'
import { agentCoverage, agentWanted } from './agent-coverage.ts'
import { checkAgents } from './check-agents.ts'
import { type AgentOrder, playAgents } from './play-agents.ts'
import { readSessions } from './read-sessions.ts'

/** Runs a seed and judges it. */
async function runAgentSeed(order: AgentOrder): Promise<SeedResult> {
  const run = await playAgents(order)
  const { world } = run.sim
  const sessions = readSessions(world)
  return judged(world, order.seed, checkAgents(run, sessions), agentCoverage(run, sessions))
}

export const AGENTS: SimWorld = {
  name: 'agent',
  meaning: 'conversations, tools and operations of two executors on the real mailbox',
  bugs: AGENT_BUGS,
  wanted: agentWanted,
  run: ({ bug, ...order }) =>
    runAgentSeed({ ...order, bug: AGENT_BUGS.find(({ name }) => name === bug) }),
}
