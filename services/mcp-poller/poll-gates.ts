/** Bounds on the polls that one process has under way, and of each connector in a time. */
import type { Admit } from '#kernel/host/connector-rate.ts'
import type { Observation } from './rules/observation-book.ts'

/** Polls under way in one process. */
const POLLS_MAX = 32
/** Polls of one connector under way. */
const POLLS_OF_ONE_MAX = 4

export interface PollGates {
  /** False when too much is under way; the poll stays due. */
  enter(observation: Observation): boolean
  leave(observation: Observation): void
  /** Resolves when the connector's rate allows one more call. */
  admit: Admit
}

export function createPollGates(admit: Admit): PollGates {
  const under = new Map<string, number>()
  let all = 0
  const nameOf = ({ tenant, observe }: Observation) => `${tenant}\n${observe.connector}`
  return {
    enter(observation) {
      const name = nameOf(observation)
      const own = under.get(name) ?? 0
      if (all >= POLLS_MAX || own >= POLLS_OF_ONE_MAX) return false
      all++
      under.set(name, own + 1)
      return true
    },
    leave(observation) {
      const name = nameOf(observation)
      const own = (under.get(name) ?? 1) - 1
      all--
      if (own > 0) under.set(name, own)
      else under.delete(name)
    },
    admit,
  }
}
