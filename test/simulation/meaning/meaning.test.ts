/** I1, I8, I15 under F18 and F19, and the bugs that the checks must find. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { seedTrials } from '../seed-trials.ts'
import { MEANING } from './meaning.ts'
import { playMeaning } from './play-meaning.ts'

const SEEDS = 16
const EVENTS = 40
/** Seeds tried for one bug before it counts as not found. */
const BUG_SEEDS_MAX = 60
const BUG_EVENTS = 30
const HOUR_MS = 3_600_000
/** Take dozens of seeds: looked for by hand, with `--world meaning --bug NAME`. */
const RARE = ['silence-is-no', 'refusal-is-no']

const trials = seedTrials(MEANING, { events: EVENTS })

describe('meaning in the simulated world', () => {
  test('I20 the same seed gives the same trace, another one another', async () => {
    const hashes: string[] = []
    for (const seed of [3, 3, 4]) hashes.push(await trials.hashOf(seed, 20))
    assert.equal(hashes[0], hashes[1])
    assert.notEqual(hashes[0], hashes[2])
  })

  test('without faults everything is judged and polled as it should be', async () => {
    for (let seed = 1; seed <= 3; seed++) {
      assert.deepEqual(await trials.violationsOf({ seed, isFaultless: true }), [])
    }
  })

  test('nothing new means no model call: an hour of polls alone', async () => {
    const run = await playMeaning({ seed: 2, events: 10, isFaultless: true, idleMs: HOUR_MS })
    const { idle, models, servers } = run
    const polls = servers.servers.flatMap(({ asked }) => asked).filter(({ at }) => at > idle.from)
    assert.ok(polls.length > 3600, `${polls.length} polls`)
    assert.deepEqual(
      models.calls.filter(({ at }) => at > idle.from),
      [],
    )
  })

  test(`every promise holds in ${SEEDS} seeds with faults`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      assert.deepEqual(await trials.violationsOf({ seed }), [])
    }
  })
})

describe('planted bugs of judging and polling', () => {
  for (const { name, meaning } of MEANING.bugs.filter(bug => !RARE.includes(bug.name))) {
    test(`${name} is found: ${meaning}`, () =>
      trials.find(name, { last: BUG_SEEDS_MAX, events: BUG_EVENTS }))
  }
})
