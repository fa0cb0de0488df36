/** Sensitivity: what the simulator is for is to find these. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BUGS } from './bugs/all-bugs.ts'
import { runSeed } from './run-seed.ts'

/** Seeds tried for one bug before it counts as not found. */
const SEEDS_MAX = 1000
const EVENTS = 100

/** A seed that found the bug lately: where the search starts, so that it is short. */
const FIRST: Record<string, number> = {}

describe('planted bugs', () => {
  for (const bug of BUGS) {
    test(`${bug.name} is found: ${bug.meaning}`, async () => {
      const first = FIRST[bug.name] ?? 1
      for (let seed = first; seed < first + SEEDS_MAX; seed++) {
        const { violations } = await runSeed({ seed, events: EVENTS, bug })
        if (violations.length > 0) return
      }
      assert.fail(`not found in the seeds ${first} to ${first + SEEDS_MAX - 1}`)
    })
  }
})
