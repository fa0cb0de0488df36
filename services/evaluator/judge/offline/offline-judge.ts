/**
 * The judge that works without a model: it compares words, in English and Spanish. It can tell
 * whether a sentence of the item names everything that a simple criterion names ("a meeting is
 * cancelled", "el cliente pide un reembolso"), and whether the sentence denies it, supposes it,
 * asks for it or quotes it. Of everything else it says that it cannot judge. Deterministic.
 */
import type { JudgeItem, Leaf } from '../judge-item.ts'
import type { ValidVerdict } from '../validate-verdicts.ts'
import { type Asked, readCriterion, type Term, type Unjudgeable } from './criterion.ts'
import { conceptAt, type Found } from './lexicon.ts'
import { refusalOf, type Sentence, sentencesOf } from './sentence.ts'
import { type Word, wordsOf } from './words.ts'

export type OfflineResult =
  | { kind: 'valid'; verdict: ValidVerdict }
  | { kind: 'cannot-judge'; reason: Unjudgeable | 'set-scope' }

/** Words that everything named must lie within. */
const SPAN_MAX = 16
/** A longer sentence is quoted from the words that count. */
const QUOTE_CHARS_MAX = 240

/** Judges one item. The evidence is the sentence that says it. */
export function judgeOffline(criterion: string, item: Pick<JudgeItem, 'leaves'>): OfflineResult {
  const asked = readCriterion(criterion)
  if (typeof asked === 'string') return { kind: 'cannot-judge', reason: asked }
  const refusals = new Set<string>()
  for (const leaf of textLeaves(item.leaves)) {
    for (const sentence of sentencesOf(leaf.text, wordsOf)) {
      const span = spanOf(asked.terms, sentence.words)
      if (!span) continue
      const named = asked.terms.flatMap(term => placesOf(term, sentence.words))
      const refusal = refusalOf(sentence, { ...span, terms: named }, asked.kind)
      if (refusal) refusals.add(refusal)
      else return matched(leaf, sentence, { span, asked })
    }
  }
  const why = refusals.size > 0 ? `only ${[...refusals].join(', ')}` : 'no sentence names it'
  return valid({ matched: false, confidence: 0.8, evidence: [], reason: `offline: ${why}` })
}

/** Names of types and sources hold words too, but say nothing. */
function textLeaves(leaves: readonly Leaf[]): Leaf[] {
  return leaves.filter(({ pointer, text }) => pointer !== '' || /\s/.test(text))
}

interface Span extends Found {
  terms: Found[]
}

/** The first place where all needed terms lie close together. */
function spanOf(terms: readonly Term[], words: readonly Word[]): Span | undefined {
  const needed = terms.filter(({ isOptional }) => !isOptional)
  const places = needed.map(term => placesOf(term, words))
  const [first, ...others] = places
  for (const start of first ?? []) {
    const found: Found[] = [start]
    for (const list of others) {
      const near = list.filter(place => isDisjoint(place, found) && isNear(place, start))
      const best = near.sort((a, b) => distance(a, start) - distance(b, start))[0]
      if (best) found.push(best)
    }
    if (found.length < needed.length) continue
    const from = Math.min(...found.map(place => place.from))
    return { from, to: Math.max(...found.map(place => place.to)), terms: found }
  }
  return undefined
}

function placesOf({ concept, stem, language }: Term, words: readonly Word[]): Found[] {
  return words.flatMap((word, at) => {
    if (concept !== undefined) return conceptAt(concept, words, at) ?? []
    return word[language] === stem ? { from: at, to: at } : []
  })
}

const distance = (a: Found, b: Found) => Math.abs(a.from - b.from)
const isNear = (a: Found, b: Found) => distance(a, b) <= SPAN_MAX

/** One word cannot be two of the things that are named. */
function isDisjoint({ from, to }: Found, found: readonly Found[]): boolean {
  return found.every(other => to < other.from || from > other.to)
}

function matched(
  leaf: Leaf,
  { text, words }: Sentence,
  { span, asked }: { span: Span; asked: Asked },
): OfflineResult {
  const whole = text.trim()
  const part = leaf.text.slice(words[span.from]?.start ?? 0, words[span.to]?.end ?? 0)
  const quote = whole.length <= QUOTE_CHARS_MAX ? whole : part
  const hasAll = asked.terms.every(term => !term.isOptional || placesOf(term, words).length > 0)
  return valid({
    matched: true,
    confidence: hasAll ? 0.8 : 0.75,
    evidence: [{ quote, pointer: leaf.pointer }],
    reason: 'offline: one sentence names everything that the criterion names',
  })
}

function valid(verdict: ValidVerdict): OfflineResult {
  return { kind: 'valid', verdict }
}
