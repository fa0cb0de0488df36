/** A verdict as a person reads it: what was found, by whom, on which words, at what cost. */
import { post } from '../../kernel/web/call.js'
import { el } from '../../kernel/web/dom.js'
import { session } from './api.js'
import { factList, quietOf } from './parts.js'
import { atPointer, markedText, markOf, rangesOf } from './quotes.js'
import { inWords, words } from './words.js'

const TONES = { matched: 'good', 'not-matched': 'calm', failed: 'stop' }
const ATTRIBUTES = ['type', 'source', 'subject']

/** `events` are those that were judged. */
export function verdictOf(verdict, events) {
  const { outcome, confidence, model, cached, evidence, reason, usage, answer } = verdict
  const tone = TONES[outcome] ?? 'wait'
  const isJudged = outcome !== 'failed' && typeof confidence === 'number'
  return el(
    'div',
    { class: 'verdict' },
    factList([
      [words.outcome, el('b', { class: `fate ${tone}` }, words.outcomes[outcome] ?? outcome)],
      [words.confidence, isJudged ? words.confidenceOf(confidence) : null],
      [words.model, modelOf(model)],
      [words.answeredBy, answer ? words.answeredWith(answeredBy(answer)) : null],
      [words.cost, usage ? `${costOf(usage)}${cached ? `; ${words.fromCache}` : ''}` : null],
      [words.judgeReason, reason],
    ]),
    ...evidenceOf(evidence ?? [], events),
  )
}

const answeredBy = ({ by, decision }) => ({ by, decision: inWords('answers', decision) })

function modelOf(model) {
  if (model !== 'offline') return model
  return [el('span', { class: 'badge' }, words.offline), ` ${words.lexicalJudge}`]
}

/** Calls, tokens and money. */
export function costOf(usage) {
  const { calls = 0, inputTokens = 0, outputTokens = 0, cost = '0' } = usage ?? {}
  const money = `${cost} ${session.currency}`.trim()
  return words.costOf({ calls, tokens: inputTokens + outputTokens, money })
}

/** One figure per text that was quoted, with all its quotes marked. */
function evidenceOf(evidence, events) {
  const places = new Map()
  for (const { quote, pointer } of evidence) {
    const place = placeOf(quote, pointer, events)
    const key = `${place.source}\n${pointer}\n${place.text}`
    const known = places.get(key) ?? { ...place, pointer, quotes: [] }
    known.quotes.push(quote)
    places.set(key, known)
  }
  return [...places.values()].map(figureOf)
}

function figureOf({ text, source, pointer, quotes }) {
  const ranges = text === null ? [] : rangesOf(text, quotes)
  const isFound = ranges.length > 0
  const shown = isFound
    ? markedText(text, ranges)
    : quotes.flatMap((quote, at) => [at > 0 ? ' … ' : '', markOf(quote)])
  return el(
    'figure',
    { class: 'untrusted' },
    el(
      'figcaption',
      {},
      el('b', {}, words.untrusted),
      ` ${words.untrustedFrom(source, pointer)}`,
      isFound ? null : ` ${words.textGone}`,
    ),
    el('blockquote', {}, ...shown),
  )
}

/**
 * The text that holds a quote. The pointer leads into `data`, or is empty for an attribute; over a
 * whole group it starts with the number of the event.
 */
function placeOf(quote, pointer, events) {
  const [, number, rest = ''] = /^\/(\d+)(\/.*)?$/s.exec(pointer) ?? []
  const member = number === undefined ? undefined : events[events.length === 1 ? 0 : number - 1]
  const wanted = [
    ...events.flatMap(event => textsAt(event, pointer)),
    ...(member ? textsAt(member, rest) : []),
  ]
  const found = wanted.find(({ text }) => rangesOf(text, [quote]).length > 0)
  return found ?? { text: null, source: (member ?? events[0])?.source ?? '' }
}

function textsAt(event, pointer) {
  const { source } = event
  const value = atPointer(event.data, pointer)
  const attributes = pointer === '' ? ATTRIBUTES.map(name => event[name]) : []
  return [value, ...attributes]
    .filter(each => each !== undefined && each !== null)
    .map(each => ({ text: typeof each === 'string' ? each : JSON.stringify(each), source }))
}

/** Right or wrong: what is kept measures the condition later. `kept` is what was said before. */
export function labelButtons(verdictId, kept) {
  const status = el('span', { role: 'status', class: 'quiet' })
  const buttons = ['right', 'wrong'].map(label =>
    el('button', { type: 'button', 'aria-pressed': `${kept === label}` }, words[label]),
  )
  const say = async label => {
    try {
      await post(`/v1/verdicts/${encodeURIComponent(verdictId)}/label`, { label })
      for (const [at, each] of ['right', 'wrong'].entries()) {
        buttons[at].setAttribute('aria-pressed', `${each === label}`)
      }
      status.textContent = words.labelled[label]
    } catch (error) {
      status.textContent = error.message
    }
  }
  buttons[0].addEventListener('click', () => say('right'))
  buttons[1].addEventListener('click', () => say('wrong'))
  const attributes = { role: 'group', 'aria-label': words.wasRight, class: 'choices' }
  return el('div', attributes, quietOf(words.wasRight), ...buttons, status)
}
