/** What the offline judge knows of words, and where their groups stand in a text. */
import { GROUPS } from './lexicon-groups.ts'
import { isDenial, type Word, wordsOf } from './words.ts'

interface Phrase {
  /** Stems in order; one for a single word. */
  stems: string[]
  language: 'en' | 'es'
}

/** Names of groups and their phrases, the longest first. */
export const CONCEPTS: ReadonlyMap<string, readonly Phrase[]> = new Map(
  GROUPS.trim()
    .replaceAll('\n  ', ' ')
    .split('\n')
    .map(line => {
      const [name = '', rest = ''] = line.split(/: (.*)/)
      const [en = '', es = ''] = rest.split(' | ')
      const phrases = [...phrasesOf(en, 'en'), ...phrasesOf(es, 'es')]
      return [name, phrases.sort((a, b) => b.stems.length - a.stems.length)]
    }),
)

function phrasesOf(list: string, language: 'en' | 'es'): Phrase[] {
  return list
    .split(',')
    .map(text => wordsOf(text).map(word => word[language]))
    .filter(stems => stems.length > 0)
    .map(stems => ({ stems, language }))
}

/** Other words that may stand between the words of a phrase. */
const GAP_MAX = 2

export interface Found {
  /** Index of the first and the last word. */
  from: number
  to: number
  /** The language of the phrase, where it is one of the lexicon. */
  language?: 'en' | 'es'
}

/** Where a phrase of the group begins at `at`; the longest phrase counts. */
export function conceptAt(name: string, words: readonly Word[], at: number): Found | undefined {
  for (const phrase of CONCEPTS.get(name) ?? []) {
    const to = endOf(phrase, words, at)
    if (to !== undefined) return { from: at, to, language: phrase.language }
  }
  return undefined
}

function endOf(
  { stems, language }: Phrase,
  words: readonly Word[],
  at: number,
): number | undefined {
  let next = at
  for (const [nth, stem] of stems.entries()) {
    const last = nth === 0 ? at : next + GAP_MAX
    while (next <= last && words[next]?.[language] !== stem) {
      const word = words[next]
      // `is not down` is not `is down`.
      if (!word || isDenial(word)) return undefined
      next += 1
    }
    if (next > last || next >= words.length) return undefined
    next += 1
  }
  return next - 1
}
