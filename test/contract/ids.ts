/** What every Ids promises, as one suite for all adapters. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Ids } from '#kernel/ports/ids.ts'

const HOW_MANY = 2000

/** Declares the whole suite for one adapter. */
export function idsContract(name: string, makeIds: () => Ids): void {
  describe(`${name} keeps the Ids contract`, () => {
    const ids = makeIds()
    const drawn = Array.from({ length: HOW_MANY }, () => ids.random())

    test('a random name is 32 lower-case hex digits', () => {
      assert.deepEqual(
        drawn.filter(id => !/^[0-9a-f]{32}$/.test(id)),
        [],
      )
    })
    test('no name comes twice, also from another instance', () => {
      const other = makeIds()
      const all = [...drawn, ...Array.from({ length: HOW_MANY }, () => other.random())]
      assert.equal(new Set(all).size, all.length)
    })
    // A digit that is fixed, as the version of a UUID is, would make the bits fewer than promised.
    test('every digit takes every value', () => {
      for (let place = 0; place < 32; place++) {
        assert.equal(new Set(drawn.map(id => id[place])).size, 16, `digit ${place}`)
      }
    })
  })
}
