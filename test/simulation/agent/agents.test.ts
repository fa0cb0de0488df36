/** Agents over many seeds, and the bugs that the checks must find. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { seedTrials } from '../seed-trials.ts'
import { AGENTS } from './agents.ts'

const SEEDS = 30
const EVENTS = 240
const BUG_SEEDS_MAX = 60
/** Takes dozens of seeds here, and few in the world of events: looked for by hand. */
const RARE = ['expired-lease-settles']

const trials = seedTrials(AGENTS, { events: EVENTS })

describe('agents in the simulated world', () => {
  test('without faults every promise is kept', async () => {
    for (let seed = 1; seed <= 5; seed += 1) {
      assert.deepEqual(await trials.violationsOf({ seed, isFaultless: true }), [])
    }
  })

  test(`H1, I6, I7, I10 and the rules of closings hold in ${SEEDS} seeds with faults`, async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1)
      assert.deepEqual(await trials.violationsOf({ seed }), [])
  })

  test('I20 the same seed gives the same trace, another seed another', async () => {
    const hashes = []
    for (const seed of [7, 7, 8]) hashes.push(await trials.hashOf(seed, 100))
    assert.equal(hashes[0], hashes[1])
    assert.notEqual(hashes[0], hashes[2])
  })

  for (const { name, meaning } of AGENTS.bugs.filter(bug => !RARE.includes(bug.name))) {
    test(`planted: ${name} is found: ${meaning}`, () => trials.find(name, { last: BUG_SEEDS_MAX }))
  }
})
