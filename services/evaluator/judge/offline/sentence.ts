/** Does a sentence state something, or does it deny, suppose, ask, quote or advise? */
import { isDenial, type Word } from './words.ts'

export interface Sentence {
  text: string
  /** Of the text in its leaf. */
  start: number
  words: Word[]
  isQuestion: boolean
  /** Character ranges in quotation marks, counted in the leaf. */
  quoted: [from: number, to: number][]
}

const SENTENCE = /[^.!?\n…]+(?:[.!?…]+|\n|$)/gu
const QUOTED = /"[^"\n]{2,300}"|“[^”\n]{2,300}”|«[^»\n]{2,300}»/gu

/** The sentences of a text; a point inside a number or a word ends none. */
export function sentencesOf(text: string, wordsIn: (text: string) => Word[]): Sentence[] {
  const masked = text.replace(/(?<=\p{N})\.(?=\p{N})/gu, ',')
  const quoted = [...text.matchAll(QUOTED)].map(({ 0: part, index }): [number, number] => [
    index,
    index + part.length,
  ])
  const words = wordsIn(text)
  return [...masked.matchAll(SENTENCE)].map(({ 0: part, index }) => {
    const end = index + part.length
    const body = text.slice(index, end)
    return {
      text: body,
      start: index,
      words: words.filter(word => word.start >= index && word.end <= end),
      isQuestion: /[?]\s*$/.test(body),
      quoted,
    }
  })
}

const set = (text: string) => new Set(text.trim().split(/\s+/))

const SUPPOSING =
  set(`if unless suppose supposing whether might maybe perhaps imagine hypothetically
ojala quiza quizas supongamos suponga imagina acaso`)
const GENERAL = set(`whoever whenever anyone tip tips guide guidelines training course lesson survey
etiquette policy rules manual template example faq how
quienquiera consejo consejos guia curso formacion encuesta manual plantilla ejemplo norma como`)
const MODALS = set(`might may could should would must
podria podrian deberia deberian`)
const POLITE = set('please kindly')
/** Words by which a text speaks to who judges it, instead of saying something. */
const ADDRESSING =
  set(`ai assistant evaluator evaluators classifier model system prompt matched verdict
criterion override instructions instruction reviewer llm
ia evaluador evaluadores evalue sistema criterio veredicto instrucciones asistente
clasificador verdadero falso`)
const CUES = set(`
want wants need please could can would request ask demand expect kindly require must
quiero queremos necesito necesitamos pido pedimos solicito solicitamos exijo ruego quisiera gustaria
podrian podriais podeis puede pueden puedes podria deseo reclamo
`)
const CUE_PHRASES =
  /\b(?:i'd|i would|we'd|look forward|how about|por favor|me (?:pod|pued)\w+|les? pid\w+)/

/** How many words before a term can turn its meaning. */
const REACH = 6
/** A heading names things and states nothing. */
const STATEMENT_WORDS_MIN = 3

export type Refusal =
  | 'heading'
  | 'addresses-the-judge'
  | 'quoted'
  | 'negated'
  | 'supposed'
  | 'asked'
  | 'general'

/** Why the span of words is no plain statement of this sentence; undefined when it is one. */
export function refusalOf(
  sentence: Sentence,
  span: { from: number; to: number; terms: { from: number; to: number }[] },
  kind: 'request' | 'statement',
): Refusal | undefined {
  const { words, isQuestion, quoted, text } = sentence
  if (words.some(({ plain }) => ADDRESSING.has(plain))) return 'addresses-the-judge'
  const [start, end] = [words[span.from]?.start ?? 0, words[span.to]?.end ?? 0]
  if (quoted.some(([from, to]) => from <= start && end <= to)) return 'quoted'
  if (isNegated(words, span.terms)) return 'negated'
  const before = words.slice(0, span.to + 1)
  if (isSupposed(before, text)) return 'supposed'
  if (before.some(({ plain }) => GENERAL.has(plain)) && !/\bcomo (?:el|la|siempre)\b/.test(text)) {
    return 'general'
  }
  if (words.length < STATEMENT_WORDS_MIN) return 'heading'
  if (kind === 'request') return isRequested(sentence) ? undefined : 'asked'
  const near = words.slice(Math.max(0, span.from - REACH), span.to)
  if (isQuestion || near.some(({ plain }) => MODALS.has(plain) || POLITE.has(plain))) return 'asked'
  return undefined
}

/** A word of denial shortly before a term, in the same clause, that is no part of a term. */
function isNegated(
  words: readonly Word[],
  terms: readonly { from: number; to: number }[],
): boolean {
  const isInside = (at: number) => terms.some(({ from, to }) => at >= from && at <= to)
  return terms.some(({ from, to }) =>
    words.some((word, at) => {
      if (!isDenial(word) || isInside(at) || at > to || at < from - REACH) return false
      return !/^(?:only|just|solo|solamente|dude|duden|hesitate)$/.test(words[at + 1]?.plain ?? '')
    }),
  )
}

/** `si` without an accent supposes; `sí` affirms, and both are the same without accents. */
function isSupposed(before: readonly Word[], text: string): boolean {
  if (before.some(({ plain }) => SUPPOSING.has(plain))) return true
  if (/\b(?:in case|en caso de|por si)\b/i.test(text)) return true
  const last = before.at(-1)?.end ?? 0
  const first = before[0]?.start ?? 0
  return /(?:^|[\s,;¿(])si\s/i.test(text.slice(0, Math.max(0, last - first)))
}

function isRequested({ words, text }: Sentence): boolean {
  return words.some(({ plain }) => CUES.has(plain)) || CUE_PHRASES.test(text.toLowerCase())
}
