/** The console says everything in both languages, and has words for what the API's lists hold. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { ANSWERS } from '#kernel/domain/approval-answer.ts'
import { FATES, STAGES } from '#kernel/domain/fate.ts'
import { STOP_REASONS } from '#services/agent/loop/stop-reason.ts'
import {
  assertTranslated,
  browserModule,
  textsWithoutWord,
  type Words,
} from '#test/support/page-texts.ts'

const folder = new URL('./', import.meta.url)
const load = (path: string) => browserModule(new URL(path, folder))
const { english, spanish } = await load('../../kernel/web/shared-words.js')
const { words: own } = await load('words-en.js')
const { words: ownSpanish } = await load('words-es.js')
const { codes } = await load('codes-en.js')
const { codes: spanishCodes } = await load('codes-es.js')
const words = { ...english, ...own }

/** Texts of the guard's source that are given as the reason of a refusal. */
const REASON =
  /reason: '([a-z-]+)'|\b(?:inactive|rejected|failed|notEntitled|grouped)\('([a-z-]+)'/g

describe('the words of the console', () => {
  it('are the same in both languages, each in its own', () => {
    assertTranslated(words, { ...spanish, ...ownSpanish }, SAME)
    assertTranslated(codes!, spanishCodes!, [])
  })

  it('are behind every text that it shows', () => {
    assert.deepEqual(textsWithoutWord(folder, words), [])
  })

  for (const [list, table, names] of [
    ['fates', own!.fates, FATES],
    ['stages', codes!.stages, STAGES],
    ['ends', codes!.ends, STOP_REASONS],
    ['answers', codes!.answers, ANSWERS],
    ['reasons', codes!.reasons, guardReasons()],
  ] as const) {
    it(`name all ${list}`, () => {
      assert.deepEqual(
        names.filter(name => !Object.hasOwn(table as Words, name)),
        [],
      )
    })
  }
})

/** Names, and what both languages write alike. */
const SAME = ['chat', 'hops.decided', 'problem', 'answeredWith']

function guardReasons(): string[] {
  const files = globSync('services/guard/{stages/*,decide-*}.ts').filter(
    path => !path.endsWith('.test.ts') && !path.endsWith('stage-case.ts'),
  )
  const found = files.flatMap(path => [...readFileSync(path, 'utf8').matchAll(REASON)])
  assert.ok(found.length > 15, 'the reasons are found in the source of the guard')
  return found.map(([, given, argument]) => given ?? argument ?? '')
}
