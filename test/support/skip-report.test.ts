import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { createSkipReport } from './skip-report.ts'

// The report reads the reporter's text, so the test asks the reporter of this very runtime: a
// new version that words a skip in another way fails here and not silently in a run.
it('names every skipped suite and test, and keeps the totals last', () => {
  const lines = specLines(`
    import { describe, it } from 'node:test'
    describe('needs Kafka', { skip: 'infra:up does not run' }, () => { it('inner', () => {}) })
    describe('works', () => { it('passes', () => {}); it('left out', { skip: true }, () => {}) })
  `)
  const report = createSkipReport()
  const live = lines.flatMap(line => report.onLine(line))
  const end = report.atEnd()
  assert.ok(live.some(line => line.includes('passes')))
  assert.ok(!live.some(line => line.startsWith('ℹ tests')))
  assert.deepEqual(end.slice(0, 3), [
    'Skipped suites and tests: 2',
    '  needs Kafka: infra:up does not run',
    '  left out',
  ])
  assert.equal(end[3], 'ℹ tests 2')
})

it('adds nothing to a run that skipped nothing', () => {
  const report = createSkipReport()
  assert.deepEqual(report.onLine('✔ passes (0.5ms)'), ['✔ passes (0.5ms)'])
  assert.deepEqual(report.onLine('ℹ tests 1'), [])
  assert.deepEqual(report.atEnd(), ['ℹ tests 1'])
})

function specLines(source: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-skip-'))
  const file = join(folder, 'sample.test.mjs')
  writeFileSync(file, source)
  // Inside a test run node would report to the parent instead of printing.
  const { NODE_TEST_CONTEXT: _context, ...env } = process.env
  const args = ['--test', '--test-reporter=spec', file]
  const { stdout } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  rmSync(folder, { recursive: true })
  return stdout.trimEnd().split('\n')
}
