/** The page of error codes and the table they come from say the same, in both directions. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AmbitError, ERRORS, type ErrorCode, isAmbitError, type Retry } from './errors.ts'

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/errors.md'), 'utf8')

/** `| \`code\` | status | retry | …`: one row a code. */
const ROW = /^\| *`([a-z-]+)` *\| *(\d{3}) *\| *([^|]+?) *\|/

const rows = PAGE.split('\n').flatMap(line => {
  const [, code, status, retry] = ROW.exec(line) ?? []
  return code === undefined ? [] : [{ code, status: Number(status), retry }]
})

function inWords(retry: Retry): string {
  return typeof retry === 'string' ? retry : `after ${retry.afterMs / 1000} s`
}

test('docs/errors.md lists every code of the table, and no other, once', () => {
  const listed = rows.map(({ code }) => code).toSorted()
  assert.deepEqual(listed, Object.keys(ERRORS).toSorted())
})

test('docs/errors.md gives each code its status and what to do next', () => {
  const expected = Object.entries(ERRORS).map(([code, { status, retry }]) => ({
    code,
    status,
    retry: inWords(retry),
  }))
  const byCode = (a: { code: string }, b: { code: string }) => a.code.localeCompare(b.code)
  assert.deepEqual(rows.toSorted(byCode), expected.toSorted(byCode))
})

test('an error has the status of its code, and a retry of its own only where it says so', () => {
  const plain = new AmbitError('rate-limited', 'Expected fewer requests.')
  assert.deepEqual([plain.status, plain.retry], [429, { afterMs: 1000 }])
  const later = new AmbitError('rate-limited', 'Expected fewer requests.', { retryAfterMs: 30_000 })
  assert.deepEqual(later.retry, { afterMs: 30_000 })
})

test('an error is recognised by its shape, also from another copy of the module', () => {
  const code: ErrorCode = 'conflict'
  const foreign = Object.assign(new Error('text'), { name: 'AmbitError', code })
  assert.equal(isAmbitError(foreign), true)
  assert.equal(isAmbitError(new Error('text')), false)
})
