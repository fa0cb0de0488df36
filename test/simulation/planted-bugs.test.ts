/** Sensitivity: what the simulator is for is to find these. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BUGS } from './bugs/all-bugs.ts'
import { seedTrials } from './seed-trials.ts'
import { PIPELINE } from './worlds.ts'

/** Seeds tried for one bug before it counts as not found. */
const SEEDS_MAX = 1000
const EVENTS = 100

/**
 * Bugs that a short search finds. The others of `bugs/` are rarer, or do no harm that is seen yet:
 * they are looked for by hand with `npm run sim -- --bug NAME --seeds N --first S`.
 */
const SOON = new Set([
  'fence-ignored',
  'rollback-unnoticed',
  'claim-ttl-zero',
  'candidate-forgotten',
  'outbox-not-drained',
  'outbox-not-written',
  'wall-clock',
  'expired-lease-settles',
  'tokens-start-again',
  'mailbox-race',
  'cooldown-not-stored',
  'latch-not-stored',
  'members-lost',
  'flush-twice',
  'budget-unlimited',
])

const trials = seedTrials(PIPELINE, { events: EVENTS })

describe('planted bugs', () => {
  test('every bug that is looked for exists', () => {
    const names = new Set(BUGS.map(({ name }) => name))
    assert.deepEqual(
      [...SOON].filter(name => !names.has(name)),
      [],
    )
  })

  for (const { name, meaning } of BUGS.filter(bug => SOON.has(bug.name))) {
    test(`${name} is found: ${meaning}`, () => trials.find(name, { last: SEEDS_MAX }))
  }
})
