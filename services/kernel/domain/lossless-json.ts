/**
 * The one JSON reader and writer. What a producer sent is what an agent reads: nothing is
 * rounded, renamed, merged or replaced on the way.
 *
 * - J1: text is strict RFC 8259; duplicate keys (RFC 8259 section 4) and unpaired surrogates
 *   (section 8.2) are refused, because readers disagree on them.
 * - J2: nesting and the number of keys are bounded before anything recursive sees the value.
 * - J3: a number whose decimal value a double would change stays its source text
 *   (`JSON.rawJSON`), so `stringifyLossless` gives it back.
 * - J4: `__proto__`, `constructor`, `then` and `toJSON` are own, plain data.
 *
 * The grammar itself is left to the engine's `JSON.parse`. This file adds one forward scan that
 * looks at structure only, so an ordinary body costs one scan and one native parse.
 */
import { AmbitError } from '../errors.ts'
import { findDuplicateKey } from './duplicate-key.ts'

declare global {
  interface JSON {
    /** A number kept as its source text (TC39 "JSON.parse source text access"). */
    rawJSON(text: string): RawNumber
    isRawJSON(value: unknown): value is RawNumber
  }
}

/** A number that a double cannot hold; `rawJSON` is its source text. */
export interface RawNumber {
  readonly rawJSON: string
}

/** Bounds of one JSON text. */
export interface JsonLimits {
  /** Deepest nesting of arrays and objects. Default 64. */
  depthMax: number
  /** Keys of all objects together. Default 10,000. */
  keysMax: number
}

const DEFAULT_LIMITS: JsonLimits = { depthMax: 64, keysMax: 10_000 }

/**
 * A number at a value's place with 16 or more digits, or with an exponent: only these can lose
 * something. 15 significant digits always survive a double. False alarms inside strings only
 * cost time. Both branches are bounded, so the expression cannot backtrack badly.
 */
const RISKY_NUMBER = /(?:^|[\s:,[])-?(?:[\d.]{16}|[\d.]{1,15}[eE])/
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/

const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * Reads untrusted text under J1 to J4.
 *
 * @throws AmbitError `bad-json`, with a pointer for a duplicate key.
 */
export function parseStrictJson(text: string, limits: Partial<JsonLimits> = {}): unknown {
  const members = countMembers(text, { ...DEFAULT_LIMITS, ...limits })
  if (!text.isWellFormed()) throw badSurrogate()
  const value = parseOrRefuse(text)
  if (members > 0 && members !== countKeys(value)) throw duplicateKey(text)
  if (SURROGATE_ESCAPE.test(text) && !isWellFormedDeep(value)) throw badSurrogate()
  return value
}

/**
 * Reads text that was validated before (our own records), under J3 and J4 only.
 *
 * @throws SyntaxError when the text is not JSON: our own record is broken.
 */
export function parseLossless(text: string): unknown {
  return RISKY_NUMBER.test(text) ? JSON.parse(text, keepExact) : JSON.parse(text)
}

/**
 * Writes a value so that `parseLossless` gives it back; no value at all is `null`. A payload key
 * named `toJSON` is data: `JSON.stringify` only calls functions, and parsed data holds none.
 */
export function stringifyLossless(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decodes bytes as UTF-8 without replacing anything. A byte order mark is refused rather than
 * dropped (RFC 8259 section 8.1: it must not be added).
 *
 * @throws AmbitError `bad-json`.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch (cause) {
    throw new AmbitError(
      'bad-json',
      'Expected UTF-8 text, got bytes that are not UTF-8. Encode the body as UTF-8.',
      { expected: 'UTF-8', actual: 'other bytes', cause },
    )
  }
  if (text.charCodeAt(0) !== 0xfeff) return text
  throw new AmbitError(
    'bad-json',
    'Expected UTF-8 without a byte order mark, got one. Send the text without it.',
    { expected: 'no byte order mark', actual: 'byte order mark' },
  )
}

/** Counts object members outside strings and checks the bounds; the grammar is not checked. */
function countMembers(text: string, limits: JsonLimits): number {
  const escapes = text.includes('\\')
  let depth = 0
  let members = 0
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at, escapes)
        if (at === -1) return members
        break
      case 0x7b: // {
      case 0x5b: // [
        depth += 1
        if (depth > limits.depthMax) throw overLimit('depth', limits.depthMax)
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth -= 1
        break
      case 0x3a: // :
        members += 1
        if (members > limits.keysMax) throw overLimit('number of keys', limits.keysMax)
        break
    }
  }
  return members
}

/** Index of the closing quote of the string that opens at `open`, or -1. */
function endOfString(text: string, open: number, escapes: boolean): number {
  let close = text.indexOf('"', open + 1)
  while (escapes && close !== -1 && isEscaped(text, close)) close = text.indexOf('"', close + 1)
  return close
}

/** True when an odd number of backslashes stands before `at`. */
function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (at - first) % 2 === 1
}

function parseOrRefuse(text: string): unknown {
  try {
    return parseLossless(text)
  } catch (error) {
    // The engine's message quotes the text, so only its position is taken over.
    const place = / at position \d+/.exec(String(error))?.[0] ?? ''
    throw new AmbitError(
      'bad-json',
      `Expected strict JSON (RFC 8259), got something else${place}. Send one JSON value.`,
      { expected: 'strict JSON', actual: `a syntax error${place}` },
    )
  }
}

/** Keeps a number's source text when the double would print another decimal value. */
function keepExact(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value
  return sameDecimal(context.source, value) ? value : JSON.rawJSON(context.source)
}

/** True when `value`, printed, has the decimal value of `source`. */
function sameDecimal(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return false
  const sent = decimalOf(source)
  const kept = decimalOf(String(value))
  return sent.digits === kept.digits && (sent.digits === '' || sent.scale === kept.scale)
}

/** A decimal as its significant digits and the power of ten of the last one; the sign is kept. */
function decimalOf(text: string): { digits: string; scale: number } {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const sign = whole.startsWith('-') ? '-' : ''
  const significant = `${whole}${fraction}`.replace(/^-?0*/, '')
  const digits = trimZeros(significant)
  const scale = Number(exponent) - fraction.length + significant.length - digits.length
  return { digits: digits === '' ? '' : sign + digits, scale }
}

/** Drops zeros at the end; a loop, because `/0+$/` is quadratic on long runs of zeros. */
function trimZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end -= 1
  return digits.slice(0, end)
}

function countKeys(root: unknown): number {
  let keys = 0
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value !== 'object' || value === null || JSON.isRawJSON(value)) continue
    const children = Object.values(value)
    if (!Array.isArray(value)) keys += children.length
    for (const child of children) if (typeof child === 'object' && child) waiting.push(child)
  }
  return keys
}

function isWellFormedDeep(root: unknown): boolean {
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string' && !value.isWellFormed()) return false
    if (typeof value !== 'object' || value === null) continue
    for (const [key, child] of Object.entries(value)) {
      if (!key.isWellFormed()) return false
      waiting.push(child)
    }
  }
  return true
}

function overLimit(what: string, max: number): AmbitError {
  return new AmbitError(
    'bad-json',
    `Expected a ${what} of at most ${max}, got more. Send a smaller or flatter value.`,
    { expected: `${what} <= ${max}`, actual: 'more' },
  )
}

function badSurrogate(): AmbitError {
  return new AmbitError(
    'bad-json',
    'Expected well-formed Unicode, got an unpaired surrogate. Send both halves or neither.',
    { expected: 'surrogates in pairs', actual: 'an unpaired surrogate' },
  )
}

function duplicateKey(text: string): AmbitError {
  return new AmbitError(
    'bad-json',
    'Expected every key once per object, got the same key twice. Send each key once.',
    { pointer: findDuplicateKey(text), expected: 'unique keys', actual: 'a duplicate key' },
  )
}
