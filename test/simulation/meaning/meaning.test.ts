/** I1, I8, I15 under F18 and F19, and the bugs that the checks must find. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runMeaning } from './meaning.ts'
import { MEANING_BUGS } from './meaning-bugs.ts'
import { type MeaningOptions, playMeaning } from './play-meaning.ts'

const SEEDS = 16
const EVENTS = 40
/** Seeds tried for one bug before it counts as not found. */
const BUG_SEEDS_MAX = 60
const BUG_EVENTS = 30
const HOUR_MS = 3_600_000
/** Take dozens of seeds: looked for by hand, with `--world meaning --bug NAME`. */
const RARE = ['silence-is-no', 'refusal-is-no']

async function violationsOf(options: MeaningOptions): Promise<string[]> {
  const { violations } = await runMeaning(options)
  return violations.map(({ invariant, text }) => `seed ${options.seed}: ${invariant} ${text}`)
}

describe('meaning in the simulated world', () => {
  test('I20 the same seed gives the same trace, another one another', async () => {
    const hashes: string[] = []
    for (const seed of [3, 3, 4]) hashes.push((await runMeaning({ seed, events: 20 })).hash)
    assert.equal(hashes[0], hashes[1])
    assert.notEqual(hashes[0], hashes[2])
  })

  test('without faults everything is judged and polled as it should be', async () => {
    for (let seed = 1; seed <= 3; seed++) {
      assert.deepEqual(await violationsOf({ seed, events: EVENTS, isFaultless: true }), [])
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
      assert.deepEqual(await violationsOf({ seed, events: EVENTS }), [])
    }
  })
})

describe('planted bugs of judging and polling', () => {
  for (const bug of MEANING_BUGS.filter(({ name }) => !RARE.includes(name))) {
    test(`${bug.name} is found: ${bug.meaning}`, async () => {
      for (let seed = 1; seed <= BUG_SEEDS_MAX; seed++) {
        if ((await violationsOf({ seed, events: BUG_EVENTS, bug })).length > 0) return
      }
      assert.fail(`not found in ${BUG_SEEDS_MAX} seeds`)
    })
  }
})
