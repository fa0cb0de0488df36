/** The chat page says everything in both languages, and has words for states and summaries. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Words } from '#test/support/page-texts.ts'
import { assertTranslated, browserModule, textsWithoutWord } from '#test/support/page-texts.ts'
import { OPERATION_STATES } from '../../operations/operation.ts'
import type { DeliverySummary } from '../../operations/pending-updates.ts'

const folder = new URL('./', import.meta.url)
const { english, spanish } = await browserModule(
  new URL('../../../kernel/web/shared-words.js', folder),
)
const { WORDS } = await browserModule(new URL('words.js', folder))
const { en, es } = WORDS as { en: Words; es: Words }

const SUMMARIES = {
  ...{ waiting: true, aggregating: true, queued_final: true },
  ...{ proactive: true, next_turn: true, idle: true },
} satisfies Record<DeliverySummary, true>

describe('the words of the chat page', () => {
  it('are the same in both languages, each in its own', () => {
    assertTranslated({ ...english, ...en }, { ...spanish, ...es }, [])
  })

  it('are behind every text that it shows', () => {
    assert.deepEqual(textsWithoutWord(folder, { ...english, ...en }), [])
    assert.deepEqual(textsWithoutWord(new URL('../../../kernel/web/', folder), english!), [])
  })

  it('name all states and summaries', () => {
    const { states, summaries } = en as { states: Words; summaries: Words }
    assert.deepEqual(Object.keys(states), [...OPERATION_STATES])
    assert.deepEqual(Object.keys(summaries), Object.keys(SUMMARIES))
  })
})
