/**
 * How large a call may be. Reserved is what a call can cost at most: our own words, whose tokens we
 * know, every byte of foreign text as a token, and the whole ceiling of the answer.
 */
import { utf8ToBytes } from '@noble/hashes/utils.js'
import type { Tokens } from '#kernel/domain/model-price.ts'
import type { JudgeItem } from './judge-item.ts'
import { promptOf } from './prompt.ts'
import { VERDICTS_JSON_SCHEMA } from './verdict-schema.ts'

/** Output tokens that one more item may need. */
const OUTPUT_PER_ITEM = 200
/** Fence lines of one item, in tokens: two random boundaries count by the byte. */
const FENCE_TOKENS = 96
/** English words are well above three characters per token, in every tokenizer. */
const CHARS_PER_TOKEN = 3

const OWN_WORDS = promptOf({ criterion: '', scope: 'each', items: [] }, 'b'.repeat(32))
const OWN_TOKENS =
  Math.ceil(
    (OWN_WORDS.instructions.length + JSON.stringify(VERDICTS_JSON_SCHEMA).length) / CHARS_PER_TOKEN,
  ) + FENCE_TOKENS

/** The ceiling of an answer about that many items. */
export function outputTokensFor(items: number, base: number): number {
  return base + OUTPUT_PER_ITEM * Math.max(0, items - 1)
}

/** Upper bound of what one call uses. */
export function tokensBound(
  criterion: string,
  items: readonly Pick<JudgeItem, 'text'>[],
  outputBase: number,
): Tokens {
  const foreign = items.reduce((sum, { text }) => sum + bytesOf(text) + FENCE_TOKENS, 0)
  return {
    inputTokens: OWN_TOKENS + bytesOf(criterion) + foreign,
    outputTokens: outputTokensFor(items.length, outputBase),
  }
}

/**
 * How many of the items, from the first on, fit into the room that is left; 0 when not even the
 * first does. `fits` says whether a bound has room in every budget.
 */
export function itemsThatFit(
  criterion: string,
  items: readonly Pick<JudgeItem, 'text'>[],
  { outputBase, fits }: { outputBase: number; fits(bound: Tokens): boolean },
): number {
  for (let count = items.length; count > 0; count--) {
    if (fits(tokensBound(criterion, items.slice(0, count), outputBase))) return count
  }
  return 0
}

function bytesOf(text: string): number {
  return utf8ToBytes(text).length
}
