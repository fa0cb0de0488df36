import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { scoreOf, shouldMatch } from './label.ts'

describe('a label', () => {
  it('says what should have happened, whatever was judged', () => {
    const cases = [
      ['right', 'matched', true],
      ['wrong', 'matched', false],
      ['right', 'not-matched', false],
      ['wrong', 'not-matched', true],
      ['missed', 'not-matched', true],
    ] as const
    for (const [label, outcome, expected] of cases) {
      assert.equal(shouldMatch({ label, outcome }), expected, `${label} ${outcome}`)
    }
  })
})

describe('a score', () => {
  const of = (should: boolean, matched: boolean) => ({ should, matched })
  it('counts precision over what matched and recall over what should have', () => {
    const outcomes = [of(true, true), of(true, true), of(true, false), of(false, true)]
    assert.deepEqual(scoreOf(outcomes), { labelled: 4, precision: 2 / 3, recall: 2 / 3 })
  })
  it('claims nothing where nothing was seen', () => {
    assert.deepEqual(scoreOf([]), { labelled: 0, precision: null, recall: null })
    assert.deepEqual(scoreOf([of(false, false)]), { labelled: 1, precision: null, recall: null })
  })
})
