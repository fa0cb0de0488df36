/** What tests ask of a simulated world: is a seed clean, and is a planted bug found? */
import assert from 'node:assert/strict'
import type { SeedOrder, SimWorld } from './sim-world.ts'

export interface SeedTrials {
  /** Violations of one seed, as a failing test shows them. */
  violationsOf(order: { seed: number; isFaultless?: boolean }): Promise<string[]>
  /** Fails unless a seed from `first`, 1 by default, to `last` shows the bug. */
  find(bug: string, seeds: { first?: number; last: number; events?: number }): Promise<void>
  /** Hash of everything that happened (I20). */
  hashOf(seed: number, events?: number): Promise<string>
}

/** Trials of `events` each; every seed must reach what is named, or it says nothing. */
export function seedTrials(
  world: SimWorld,
  { events, reached = [] }: { events: number; reached?: readonly string[] },
): SeedTrials {
  const run = async (order: Partial<SeedOrder> & { seed: number }) => {
    const result = await world.run({ events, isFaultless: false, ...order })
    const missing = reached.filter(name => !result.coverage.includes(name))
    assert.deepEqual(missing, [], `seed ${order.seed} did not reach this`)
    return result
  }
  return {
    async violationsOf(order) {
      const { violations } = await run(order)
      return violations.map(({ invariant, text }) => `seed ${order.seed}: ${invariant}: ${text}`)
    },
    async find(bug, { first = 1, last, events: size = events }) {
      for (let seed = first; seed <= last; seed++) {
        const { violations } = await run({ seed, events: size, bug })
        if (violations.length > 0) return
      }
      assert.fail(`not found in the seeds ${first} to ${last}`)
    },
    hashOf: async (seed, size = events) => (await run({ seed, events: size })).hash,
  }
}
