/** Faults of our own making in the agent: the checks must find each of them. */
import type { AgentWorld } from '#services/agent/run-agent.ts'
import type { AgentSeat } from './agent-sim.ts'

export interface AgentBug {
  name: string
  meaning: string
  /** Gives an agent's process ports that misbehave. */
  wrap?(world: AgentWorld, seat: AgentSeat): AgentWorld
}

export const AGENT_BUGS: readonly AgentBug[] = []
