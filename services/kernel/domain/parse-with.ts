/** Reads untrusted values by a zod schema; failures say where, what was expected, what came. */
import type { z } from 'zod'
import { AmbitError, type ErrorCode } from '../errors.ts'
import { pointerToken } from './json-pointer.ts'

/** The parsed value, or an `AmbitError` of `code` (default `invalid`) about the first problem. */
export function parseWith<S extends z.ZodType>(
  schema: S,
  value: unknown,
  code: ErrorCode = 'invalid',
): z.output<S> {
  const result = schema.safeParse(value, { error: expectedBy })
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys : []
  const path = [...(issue?.path ?? []), ...unknown.slice(0, 1)].map(part => String(part))
  const pointer = path.map(part => `/${pointerToken(part)}`).join('')
  const actual = describeAt(value, path)
  const expected = unknown.length
    ? `no member of that name; unknown: ${unknown.join(', ')}`
    : (issue?.message ?? 'another value')
  throw new AmbitError(code, `${pointer || 'The body'}: ${expected}; got ${actual}.`, {
    pointer,
    expected,
    actual,
    extra: { problems: result.error.issues.length },
  })
}

/** What is said where the schema has no words of its own; zod's speak of types, not to people. */
function expectedBy(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'too_small') return `${boundOf(issue.origin, issue.minimum)} or more`
  if (issue.code === 'too_big') return `${boundOf(issue.origin, issue.maximum)} at most`
  if (issue.code === 'invalid_type') return KIND_WORDS[issue.expected] ?? issue.expected
  if (issue.code === 'invalid_value')
    return issue.values.map((v: unknown) => JSON.stringify(v)).join(' or ')
  if (issue.code === 'invalid_format') return FORMAT_WORDS[issue.format] ?? `a ${issue.format}`
  return 'a value of another form'
}

const KIND_WORDS: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

const FORMAT_WORDS: Record<string, string> = {
  datetime: 'an instant such as 2026-12-01T09:00:00Z',
  url: 'an address such as https://example.com/feed',
  regex: 'a text of another form',
}

function boundOf(origin: string, bound: number | bigint): string {
  if (origin === 'string') return `a text of ${bound} characters`
  if (origin === 'array') return `a list of ${bound}`
  return String(bound)
}

/** What stands at a path: its kind, and the value where it is short. */
export function describeAt(value: unknown, path: string[]): string {
  return describe(at(value, path))
}

function at(value: unknown, path: string[]): unknown {
  let found = value
  for (const part of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, part)) return undefined
    found = (found as Record<string, unknown>)[part]
  }
  return found
}

/** The kind of a value, and the value where it is short and no text of a person. */
function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null || typeof value === 'boolean' || typeof value === 'number')
    return String(value)
  if (typeof value === 'string') return value.length <= 40 ? JSON.stringify(value) : 'a long text'
  return Array.isArray(value) ? 'a list' : 'an object'
}
