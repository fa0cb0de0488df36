/** What everybody in a world with agents is handed. */
import type { AgentWorld } from '#services/agent/run-agent.ts'
import type { Random } from '../random.ts'
import type { SimProcess } from '../sim-process.ts'
import type { Bug, World } from '../world.ts'
import type { AgentFacts } from './agent-facts.ts'

export const TENANT = 'acme'
/** The agent that people talk to, and one that the ends of its runs wake. */
export const ASSISTANT = 'assistant'
export const WATCHER = 'watcher'

/** A fault of our own making in the services, or in the agent. */
export interface AgentBug extends Bug {
  /** Gives an agent's process ports that misbehave. */
  wrapAgent?(world: AgentWorld, seat: AgentSeat): AgentWorld
}

export interface AgentSim {
  world: World
  facts: AgentFacts
  bug: AgentBug | undefined
  /** Runs of this seed that are told to stop in an orderly way, by process name. */
  drains: Map<string, () => Promise<void>>
}

/** One process of an agent, its luck included. */
export interface AgentSeat {
  sim: AgentSim
  process: SimProcess
  agent: string
  random: Random
}

const CRASH = 0.004

/** A place where a process may die, or stand still for as long as it is frozen. */
export async function mayDie({ sim: { world }, process }: AgentSeat): Promise<void> {
  if (world.faults.strikes('F1', CRASH * world.intensity)) world.crash(process.node, 'F1')
  await process.awake()
}

/** The answer of something outside; a process that died meanwhile never hears it. */
export async function heard<T>(seat: AgentSeat, work: () => Promise<T>): Promise<T> {
  await mayDie(seat)
  try {
    const answer = await work()
    await mayDie(seat)
    return answer
  } catch (error) {
    await seat.process.awake()
    throw error
  }
}

/** A signal that aborts with a `TimeoutError` after virtual ms. */
export function timeLimit({ sim: { world }, process }: AgentSeat): (ms: number) => AbortSignal {
  return ms => {
    const limit = new AbortController()
    const end = () => limit.abort(new DOMException('The time is over.', 'TimeoutError'))
    world.clock.after(ms, () => process.whenAwake(end))
    return limit.signal
  }
}

/** Rejects once the signal aborts. */
export function whenAborted(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason)
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
