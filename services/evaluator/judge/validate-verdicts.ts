/**
 * Is an answer about these items? By schema first, then by facts. Items are judged by themselves:
 * no item can make another's verdict fail (I15).
 */
import { parseStrictJson } from '#kernel/domain/lossless-json.ts'
import type { JudgeItem, Leaf } from './judge-item.ts'
import { type RawVerdict, REASON_CHARS_MAX, verdictsSchema } from './verdict-schema.ts'

export interface Evidence {
  quote: string
  /** Into the event's `data`; in scope `set` it starts with the item number. */
  pointer: string
}

/** A verdict that may be used. */
export interface ValidVerdict {
  matched: boolean
  /** The model's own statement, never a probability. */
  confidence: number
  evidence: Evidence[]
  reason: string
}

/** Why an item has no verdict in an answer. Fixed words. */
export type InvalidReason =
  | 'malformed'
  | 'not-answered'
  | 'answered-twice'
  | 'no-evidence'
  | 'invented-quote'

export type ItemResult =
  | { kind: 'valid'; verdict: ValidVerdict }
  | { kind: 'invalid'; reason: InvalidReason }

export interface Checked {
  /** False: the answer fits no schema, so that nothing in it may be used. */
  fits: boolean
  /** One per item in scope `each`, one for all in scope `set`. */
  results: ItemResult[]
}

/** Reads the text of an answer about `items`, numbered from 1. */
export function validateVerdicts(
  text: string,
  items: readonly JudgeItem[],
  scope: 'each' | 'set',
): Checked {
  const numbers = scope === 'set' ? [0] : items.map((_, at) => at + 1)
  const verdicts = readAnswer(text)
  if (!verdicts) return { fits: false, results: numbers.map(() => invalid('malformed')) }
  return {
    fits: true,
    results: numbers.map(number => {
      const [verdict, ...others] = verdicts.filter(({ item }) => item === number)
      if (!verdict) return invalid('not-answered')
      if (others.length > 0) return invalid('answered-twice')
      return checkFacts(verdict, leavesFor(items, number))
    }),
  }
}

function readAnswer(text: string): RawVerdict[] | undefined {
  try {
    return verdictsSchema.parse(parseStrictJson(text)).verdicts
  } catch {
    return undefined
  }
}

/** In a set every quote may be from any item, and its pointer says from which. */
function leavesFor(items: readonly JudgeItem[], number: number): Leaf[] {
  if (number > 0) return items[number - 1]?.leaves ?? []
  return items.flatMap(({ leaves }, at) =>
    leaves.map(({ pointer, text }) => ({ pointer: `/${at + 1}${pointer}`, text })),
  )
}

/** Every quote must occur; a match needs at least one. */
export function checkFacts(
  { matched, confidence, evidence, reason }: ValidVerdict,
  leaves: readonly Leaf[],
): ItemResult {
  if (matched && evidence.length === 0) return invalid('no-evidence')
  const folded = leaves.map(({ pointer, text }) => ({ pointer, text: fold(text) }))
  const found: Evidence[] = []
  for (const { quote, pointer } of evidence) {
    const place = placeOf(fold(quote), pointer, folded)
    if (!place) return invalid('invented-quote')
    found.push({ quote, pointer: place.pointer })
  }
  const short = reason.slice(0, REASON_CHARS_MAX).toWellFormed()
  return { kind: 'valid', verdict: { matched, confidence, evidence: found, reason: short } }
}

/** Does any of the values hold the quote, as far as copying keeps it? */
export function occursIn(quote: string, leaves: readonly Leaf[]): boolean {
  const folded = leaves.map(({ pointer, text }) => ({ pointer, text: fold(text) }))
  return placeOf(fold(quote), '', folded) !== undefined
}

/** The leaf that holds the quote: the one that was named if it does, else the first that does. */
function placeOf(quote: string, pointer: string, leaves: readonly Leaf[]): Leaf | undefined {
  const holding = leaves.filter(({ text }) => text === quote || isWithin(quote, text))
  return holding.find(leaf => leaf.pointer === pointer) ?? holding[0]
}

/** Fewer letters and digits than this occur everywhere and prove nothing. */
const QUOTE_LETTERS_MIN = 3

function isWithin(quote: string, text: string): boolean {
  const letters = quote.match(/[\p{L}\p{N}]/gu)?.length ?? 0
  return letters >= QUOTE_LETTERS_MIN && text.includes(quote)
}

/** NFKC, runs of white space as one space: what copying may change without changing the text. */
export function fold(text: string): string {
  return text.normalize('NFKC').replace(/\s+/gu, ' ').trim()
}

function invalid(reason: InvalidReason): ItemResult {
  return { kind: 'invalid', reason }
}
