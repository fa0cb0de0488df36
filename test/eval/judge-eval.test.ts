import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type JudgeReport, judgeReport, shippedSet } from './judge-report.ts'

const SETTINGS = {
  judging: { model: undefined, names: ['offline'] },
  ...{ batchMax: 8, attemptsMax: 3, timeoutMs: 1000, outputTokens: 600, prices: [] },
}

test('the shipped set has two languages, hard negatives, and quotes that occur', () => {
  const set = shippedSet()
  assert.ok(set.length >= 200)
  assert.equal(new Set(set.map(({ id }) => id)).size, set.length)
  for (const lang of ['en', 'es']) {
    assert.ok(set.filter(line => line.lang === lang && line.kind === 'hard-negative').length >= 15)
  }
  for (const line of set) {
    const { quote } = line as { quote?: string | null }
    assert.equal(typeof quote === 'string', line.label, line.id)
    if (quote) assert.ok(line.item.text.includes(quote), line.id)
  }
})

test('the offline judge scores what its baseline says, and keeps what it promises', async () => {
  const report = await judgeReport(shippedSet(), SETTINGS)
  const path = new URL('judge-baseline.json', import.meta.url)
  const baseline = JSON.parse(readFileSync(path, 'utf8')) as JudgeReport
  assert.deepEqual(report, baseline, 'run `npm run eval:judge -- --write-baseline` if it is meant')
  const halves = [report.labelled, ...Object.values(report.labelled.byHalf)]
  for (const { precision, recall } of halves) {
    assert.ok(precision >= 0.8 && recall >= 0.6, `${precision} ${recall}`)
  }
  assert.equal(report.injection.falseActivations, 0)
})
