/** Finds what a judge quoted in the text that it read, and marks it. */
import { el } from '../../kernel/web/dom.js'
import { words } from './words.js'

const segments = new Intl.Segmenter('und', { granularity: 'grapheme' })

/** Characters shown before the first mark and after the last one of a long text. */
const CONTEXT = 400

/**
 * The text as quotes are compared: NFKC, runs of white space as one space. `from[i]` and `to[i]`
 * say which part of the text the i-th folded unit came from.
 */
function foldedWithPlaces(text) {
  const folded = { text: '', from: [], to: [] }
  for (const { segment, index } of segments.segment(text)) {
    for (const unit of segment.normalize('NFKC').replace(/\s+/gu, ' ').split('')) {
      if (unit === ' ' && (folded.text === '' || folded.text.endsWith(' '))) continue
      folded.text += unit
      folded.from.push(index)
      folded.to.push(index + segment.length)
    }
  }
  return folded
}

const fold = text => text.normalize('NFKC').replace(/\s+/gu, ' ').trim()

/** Where the quotes stand in the text, in order, joined where they meet; empty when none does. */
export function rangesOf(text, quotes) {
  const folded = foldedWithPlaces(text)
  const found = quotes.flatMap(quote => {
    const wanted = fold(quote)
    const at = wanted === '' ? -1 : folded.text.indexOf(wanted)
    return at < 0 ? [] : [[folded.from[at], folded.to[at + wanted.length - 1]]]
  })
  const joined = []
  for (const [from, to] of found.sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1)
    if (last && from <= last[1]) last[1] = Math.max(last[1], to)
    else joined.push([from, to])
  }
  return joined
}

/** Texts and `mark` elements; far from the marks a long text is left out. */
export function markedText(text, ranges) {
  const first = ranges[0]?.[0] ?? 0
  const last = ranges.at(-1)?.[1] ?? 0
  const from = Math.max(0, first - CONTEXT)
  const to = Math.min(text.length, last + CONTEXT)
  const shown = [from > 0 ? '…' : '']
  let done = from
  for (const [start, end] of ranges) {
    shown.push(text.slice(done, start), markOf(text.slice(start, end)))
    done = end
  }
  shown.push(text.slice(done, to), to < text.length ? '…' : '')
  return shown.filter(part => part !== '')
}

/** Screen readers do not tell marks; the style sheet says these words to them only. */
export function markOf(text) {
  return el('mark', { 'data-start': words.markStart, 'data-end': words.markEnd }, text)
}

/** The value that a JSON Pointer names (RFC 6901 section 4). */
export function atPointer(value, pointer) {
  if (pointer === '') return value
  return pointer
    .slice(1)
    .split('/')
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((found, key) => (isHolder(found, key) ? found[key] : undefined), value)
}

const isHolder = (value, key) =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
