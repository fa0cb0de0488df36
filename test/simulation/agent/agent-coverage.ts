/** What a seed with agents reached: faults, ends of turns, and what became of operations. */
import { STOP_REASONS } from '#services/agent/loop/stop-reason.ts'
import { reachedIn, wantedOf } from '../coverage.ts'
import { AGENT_FAULTS, type AgentRun } from './play-agents.ts'
import type { Sessions } from './read-sessions.ts'

const FATES = ['delivered', 'cycle']

export function agentCoverage({ sim }: AgentRun, { operations }: Sessions): string[] {
  const { world, facts } = sim
  const reached = reachedIn(world)
  for (const reason of facts.stops.keys()) reached.add(`stop ${reason}`)
  for (const { delivery, outcome } of operations.values()) {
    reached.add(`told ${delivery}`)
    reached.add(outcome?.ok ? 'outcome ok' : `outcome ${outcome?.why}`)
  }
  for (const { value } of world.history.values('decisions', 'decision')) {
    if (FATES.includes(value.fate)) reached.add(`fate ${value.fate}`)
  }
  return [...reached]
}

/** Everything that a run of many seeds should reach. */
export function agentWanted(): string[] {
  return [
    ...wantedOf(AGENT_FAULTS),
    ...FATES.map(fate => `fate ${fate}`),
    ...STOP_REASONS.map(reason => `stop ${reason}`),
    ...['told proactive', 'told next_turn', 'outcome ok'],
    ...['outcome refused', 'outcome unavailable', 'outcome timed-out'],
  ]
}
