/** What a criterion asks for, as far as words can say it; or why words cannot. */
import { CONCEPTS, conceptAt, type Found } from './lexicon.ts'
import { isDenial, type Language, languageOf, type Word, wordsOf } from './words.ts'

/** One thing that a sentence must name. */
export interface Term {
  /** A group of the lexicon, or undefined for a word that is only itself. */
  concept: string | undefined
  stem: string
  language: Language
  /** So general that a sentence may leave it out: a product, a service. */
  isOptional: boolean
}

export interface Asked {
  kind: 'request' | 'statement'
  terms: Term[]
}

/** Why there is nothing to compare. Fixed words. */
export type Unjudgeable =
  | 'no-known-language'
  | 'negated'
  | 'compares-numbers'
  | 'alternatives'
  | 'tone-or-opinion'
  | 'no-terms'
  | 'too-many-terms'

const set = (text: string) => new Set(text.trim().split(/\s+/))

/** Function words, and who says it: they say nothing about what is said. */
const SILENT = set(`
a an the this that these those some any of to for in on at by with from as is are was were be been
being has have had do does did will would it its they them their he she his her you your we our my
me i who whom which what there here someone somebody anyone person people customer customers
client user users sender writer author caller tenant party other patient guest buyer buyers
message mail email ticket text item event comment request about against into over up out back very
really that if because when employee employees colleague threatens threaten el la los las un una
unos unas de del al a en por para con que se su sus lo le les es son ha han sido fue ser esta
estan este esto esa ese alguien persona cliente clienta clientes usuario usuaria usuarios
remitente huesped paciente inquilino mensaje correo texto comentario evento sobre acerca hay algo
alguno porque cuando empleado empleada empleados amenaza amenazan
`)
const REQUEST = set(`
ask asks asked asking request requests requested want wants wanted demand demands need needs wish
wishes seek seeks require requires apply applies pide piden pedir solicita solicitan solicitar
quiere quieren exige exigen necesita necesitan desea desean ruega
`)
const REPORT = set(`
say says said report reports reported mention mentions inform informs announce announces announced
notify notifies warn warns state states tell tells claim claims confirm confirms describe
describes express expresses complain complains indicate indicates communicate dice dicen informa
informan avisa avisan comunica comunican anuncia anuncian indica indican menciona mencionan
confirma confirman expresa expresan queja quejan reclama reclaman advierte afirma cuenta notifica
`)
const NUMBERS = set(`
more less fewer least most above below exceeds over than mas menos mayor menor supera superior
inferior cuantos
`)
const ALTERNATIVES = set('or either o u')
const OPINIONS = set(`
important urgent urgency relevant interesting critical serious severe suspicious rude polite angry
sarcastic ironic positive negative sentiment tone mood likely probably worth worthy spam quality
good bad sounds seems appears feels intent intention importante urgente urgencia relevante
interesante critico grave sospechoso grosero educado enfadado ironico positivo negativo tono
probable vale calidad bueno malo parece suena intencion
`)
const OPTIONAL = set(`
product item article service thing goods phone mail food arrive arrives arrived comes receive
received producto articulo servicio cosa telefono correo comida llega llegan llegado recibe
recibido
`)
const TERMS_MAX = 4
const PLAIN_TERMS_MAX = 2

/** Reads a criterion of one simple sentence. */
export function readCriterion(criterion: string): Asked | Unjudgeable {
  const words = wordsOf(criterion)
  const language = languageOf(words) ?? languageOfConcepts(words)
  if (!language) return 'no-known-language'
  const isRequest = words.some(({ plain }) => REQUEST.has(plain))
  const terms: Term[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]
    if (!word) continue
    const found = isFrame(word) ? undefined : longestConcept(words, at)
    if (found && (found.to > found.from || !SILENT.has(word.plain))) {
      const { concept } = found
      // `called back by phone` names one thing twice.
      if (!terms.some(term => term.concept === concept)) {
        terms.push({ ...termOf(word, language), concept })
      }
      at = found.to
      continue
    }
    const refusal = refusalOf(word)
    if (refusal) return refusal
    if (SILENT.has(word.plain) || isFrame(word)) continue
    terms.push(termOf(word, language))
  }
  return checked(isRequest ? 'request' : 'statement', terms)
}

/** Two or three words may hold no common one; then the lexicon knows their language. */
function languageOfConcepts(words: readonly Word[]): Language | undefined {
  const found = words.flatMap((_, at) => longestConcept(words, at)?.language ?? [])
  return found.length === 0 ? undefined : found.includes('es') ? 'es' : 'en'
}

function isFrame({ plain }: Word): boolean {
  return REQUEST.has(plain) || REPORT.has(plain)
}

function refusalOf(word: Word): Unjudgeable | undefined {
  const { plain } = word
  if (isDenial(word)) return 'negated'
  if (NUMBERS.has(plain) || /\d/.test(plain)) return 'compares-numbers'
  if (ALTERNATIVES.has(plain)) return 'alternatives'
  return OPINIONS.has(plain) ? 'tone-or-opinion' : undefined
}

function termOf({ plain, en, es }: Word, language: Language): Term {
  const stem = language === 'en' ? en : es
  return { concept: undefined, stem, language, isOptional: OPTIONAL.has(plain) }
}

function longestConcept(
  words: readonly Word[],
  at: number,
): (Found & { concept: string }) | undefined {
  let best: (Found & { concept: string }) | undefined
  for (const concept of CONCEPTS.keys()) {
    const found = conceptAt(concept, words, at)
    if (found && found.to > (best?.to ?? at - 1)) best = { ...found, concept }
  }
  return best
}

function checked(kind: Asked['kind'], terms: Term[]): Asked | Unjudgeable {
  const needed = terms.filter(({ isOptional }) => !isOptional)
  if (needed.length === 0) return 'no-terms'
  const plain = needed.filter(({ concept }) => concept === undefined)
  if (needed.length > TERMS_MAX || plain.length > PLAIN_TERMS_MAX) return 'too-many-terms'
  return { kind, terms }
}
