import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addTo, countIn, freeAt, type SlidingWindow } from './sliding-window.ts'

const windowMs = 60_000

function fill(times: number[]): SlidingWindow {
  return times.reduce<SlidingWindow>((window, at) => addTo(window, at, windowMs), [])
}

describe('sliding window', () => {
  it('counts exactly what is rarer than a 64th of the window', () => {
    const window = fill([0, 2000, 4000, 6000].map(at => at + 1_000_000))
    assert.equal(countIn(window, 1_006_000, windowMs), 4)
    assert.equal(countIn(window, 1_060_000, windowMs), 3)
    assert.equal(countIn(window, 1_066_000, windowMs), 0)
  })

  it('stays small in a flood and never counts too few', () => {
    const times = Array.from({ length: 20_000 }, (_, at) => 1_000_000 + at * 5)
    const window = fill(times)
    assert.ok(window.length <= 66, `${window.length} entries`)
    const now = times.at(-1) ?? 0
    const exact = times.filter(at => at > now - windowMs).length
    const counted = countIn(window, now, windowMs)
    assert.ok(counted >= exact && counted <= exact * 1.02, `${counted} for ${exact}`)
  })

  it('says when there is room again', () => {
    const window = fill([1_000_000, 1_010_000, 1_020_000])
    assert.equal(freeAt(window, 1_020_000, { windowMs, max: 4 }), 0)
    assert.equal(freeAt(window, 1_020_000, { windowMs, max: 3 }), 1_060_000)
    assert.equal(freeAt(window, 1_020_000, { windowMs, max: 1 }), 1_080_000)
  })
})
