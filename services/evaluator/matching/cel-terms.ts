/**
 * What an expression needs at least: comparisons of one value with a literal, joined by `&&`.
 * The index finds candidates by them without evaluating anything. This reads text only and
 * understands little on purpose: what it does not recognise it leaves out, which costs time, not
 * correctness.
 */
import type { TextTerm } from './match-term.ts'

const PLACE = String.raw`(?:event\.)?([a-z0-9]+(?:\.[A-Za-z_][A-Za-z0-9_]*)*)`
const TEXT = String.raw`(?:"([^"\\]*)"|'([^'\\]*)')`
const EQUALS = new RegExp(String.raw`^\s*${PLACE}\s*==\s*${TEXT}\s*$`)
const EQUALS_TURNED = new RegExp(String.raw`^\s*${TEXT}\s*==\s*${PLACE}\s*$`)
const STARTS_WITH = new RegExp(String.raw`^\s*${PLACE}\.startsWith\(\s*${TEXT}\s*\)\s*$`)

/** Conditions that hold for every event on which the expression is true; maybe none. */
export function celTerms(expression: string): TextTerm[] {
  const parts = conjuncts(expression)
  return parts.flatMap(part => termOf(part) ?? [])
}

function termOf(part: string): TextTerm | undefined {
  const equals = EQUALS.exec(part)
  if (equals !== null) return term('exact', equals[1], equals[2] ?? equals[3])
  const turned = EQUALS_TURNED.exec(part)
  if (turned !== null) return term('exact', turned[3], turned[1] ?? turned[2])
  const starts = STARTS_WITH.exec(part)
  return starts === null ? undefined : term('prefix', starts[1], starts[2] ?? starts[3])
}

function term(
  kind: TextTerm['kind'],
  place: string | undefined,
  value: string | undefined,
): TextTerm | undefined {
  if (place === undefined || value === undefined || value === '') return undefined
  const isData = place === 'data' || place.startsWith('data.')
  return isData || !place.includes('.') ? { kind, path: place, value } : undefined
}

/** The operands of the outermost `&&`; none when `||` or `?:` stand beside them. */
function conjuncts(expression: string): string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  let quote = ''
  for (let at = 0; at < expression.length; at++) {
    const char = expression.charAt(at)
    if (char === '\\') return []
    if (quote !== '') {
      if (char === quote) quote = ''
    } else if (char === '/' && expression.charAt(at + 1) === '/') return []
    else if (char === '"' || char === "'") quote = char
    else if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char)) depth--
    else if (depth === 0 && (char === '?' || char === '|')) return []
    else if (depth === 0 && char === '&') {
      parts.push(expression.slice(start, at))
      start = at + 2
      at++
    }
  }
  parts.push(expression.slice(start))
  return parts
}
