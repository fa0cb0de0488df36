/** Words of a text with their places, and the stems that they are compared by. */
import snowball from 'snowball-stemmers'

export interface Word {
  /** Lower case, without accents. */
  plain: string
  /** English and Spanish stem; a text may mix both languages. */
  en: string
  es: string
  start: number
  end: number
}

export type Language = 'en' | 'es'

const english = snowball.newStemmer('english')
const spanish = snowball.newStemmer('spanish')

const STEMS_MAX = 20_000
const known = new Map<string, { plain: string; en: string; es: string }>()

/** Letters and digits, with an apostrophe inside: `don't`, `o'clock`. */
const WORD = /[\p{L}\p{N}]+(?:['’][\p{L}]+)*/gu

/** The words of a text in their order. */
export function wordsOf(text: string): Word[] {
  return [...text.matchAll(WORD)].map(({ 0: word, index }) => ({
    ...stemsOf(word),
    start: index,
    end: index + word.length,
  }))
}

function stemsOf(word: string) {
  const lower = word.toLowerCase().replaceAll('’', "'").normalize('NFC')
  const found = known.get(lower)
  if (found) return found
  if (known.size >= STEMS_MAX) known.clear()
  const bare = lower.replace(/'(?:s|ll|re|ve|d|m)$/, '')
  const made = {
    plain: withoutAccents(lower),
    en: withoutAccents(english.stem(bare)),
    es: withoutAccents(spanish.stem(withoutClitics(bare))),
  }
  known.set(lower, made)
  return made
}

/** Pronouns that Spanish hangs on its verbs: `devolverme`, `llamadme`, `enviénmela`. */
const CLITICS = /(?<=[aeiouáéírnd])(?:me|te|se|nos|os)?(?:lo|la|le|los|las|les|me|nos)$/
const CLITIC_WORD_MIN = 7

function withoutClitics(word: string): string {
  if (word.length < CLITIC_WORD_MIN || !/[áéíóú]|(?:ar|er|ir|ad|ed|id)(?:me|nos|l)/.test(word)) {
    return word
  }
  return word.replace(CLITICS, '')
}

export function withoutAccents(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '')
}

const COMMON: Record<Language, ReadonlySet<string>> = {
  en: new Set(
    'the a an of to is are and in that for was with has have been by on it my'.split(' '),
  ),
  es: new Set(
    'el la los las de que un una se en y por con es ha al del su mi lo esta alguien'.split(' '),
  ),
}

/** The language that most common words are of; undefined where there are none of either. */
export function languageOf(words: readonly Word[]): Language | undefined {
  const count = (language: Language) =>
    words.filter(({ plain }) => COMMON[language].has(plain)).length
  const [en, es] = [count('en'), count('es')]
  if (en === 0 && es === 0) return undefined
  return es > en ? 'es' : 'en'
}

const DENIALS = new Set(
  (
    'not no never without cannot nobody none neither nor hardly nothing ' +
    'nunca jamas ni sin tampoco ningun ninguna nadie nada'
  ).split(' '),
)

/** Does the word deny what comes after it? */
export function isDenial({ plain }: Word): boolean {
  return DENIALS.has(plain) || plain.endsWith("n't")
}
