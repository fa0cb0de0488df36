/** I13 over months of schedules, and the bugs that the checks must find. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkSchedules } from './check-schedules.ts'
import { SCHEDULE_BUGS } from './schedule-bugs.ts'
import { playSchedules } from './schedule-world.ts'
import { SCHEDULES } from './schedules.ts'

const SEEDS = 16
const BUG_SEEDS_MAX = 100
/** Where the search for a bug of rare moments begins: near a seed that has one, for speed. */
const SEARCH_FROM: Record<string, number> = {
  'identity-by-revision': 10,
  'revision-ignored': 17,
}

async function violationsOf(seed: number, options: Parameters<typeof playSchedules>[1]) {
  const { violations, events } = checkSchedules(await playSchedules(seed, options))
  assert.ok(events.fired.length > 50, `seed ${seed} fired only ${events.fired.length}`)
  return violations.map(({ text }) => `seed ${seed}: ${text}`)
}

describe('schedules in the simulated world', () => {
  test('I13 without faults: every instant is fired in time', async () => {
    for (let seed = 1; seed <= 3; seed++) {
      assert.deepEqual(await violationsOf(seed, { isFaultless: true }), [])
    }
  })

  test(`I13 holds in ${SEEDS} seeds of two months with faults and edits`, async () => {
    for (let seed = 1; seed <= SEEDS; seed++) assert.deepEqual(await violationsOf(seed, {}), [])
  })

  test('I20 the same seed gives the same trace, another one another', async () => {
    const order = { isFaultless: false, events: 1 }
    const hashes = []
    for (const seed of [7, 7, 8]) hashes.push((await SCHEDULES.run({ ...order, seed })).hash)
    assert.equal(hashes[0], hashes[1])
    assert.notEqual(hashes[0], hashes[2])
  })

  for (const bug of SCHEDULE_BUGS) {
    test(`planted: ${bug.name} is found: ${bug.meaning}`, async () => {
      const first = SEARCH_FROM[bug.name] ?? 1
      for (let seed = first; seed <= BUG_SEEDS_MAX; seed++) {
        if ((await violationsOf(seed, { bug })).length > 0) return
      }
      assert.fail(`not found in ${BUG_SEEDS_MAX} seeds`)
    })
  }
})
