import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSqliteTime } from './sqlite-time.ts'

function world(wallMs: number, floorMs: number) {
  const clocks = { monotonicMs: 50, uptimeMs: 9_000 }
  const now = createSqliteTime({
    wallMs,
    floorMs,
    monotonicMs: () => clocks.monotonicMs,
    uptimeMs: () => clocks.uptimeMs,
  })
  const pass = (ms: number, asleepMs = 0) => {
    clocks.monotonicMs += ms
    clocks.uptimeMs += ms + asleepMs
    return now()
  }
  return { now, pass }
}

test('S5 time starts at the wall clock and moves with the monotonic one', () => {
  const { now, pass } = world(1_000_000, 0)
  assert.equal(now(), 1_000_000)
  assert.equal(pass(1_234.9), 1_001_234)
})

test('S5 time starts no lower than what was stored, whatever the wall clock says', () => {
  const { now, pass } = world(1_000_000, 2_000_000)
  assert.equal(now(), 2_000_000)
  assert.equal(pass(10), 2_000_010)
})

test('the time that the machine slept is added once', () => {
  const { pass } = world(1_000_000, 0)
  assert.equal(pass(600), 1_000_600)
  assert.equal(pass(600, 3_600_000), 1_000_000 + 1_200 + 3_600_000)
  assert.equal(pass(600), 1_000_000 + 1_800 + 3_600_000)
})

test('coarse uptime is not taken for sleep, and an uptime that falls changes nothing', () => {
  const { pass } = world(1_000_000, 0)
  assert.equal(pass(600, 900), 1_000_600)
  assert.equal(pass(600, -50_000), 1_001_200)
})
