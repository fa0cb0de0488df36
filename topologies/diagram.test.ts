import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { flowPage } from './diagram.ts'
import { STEPS, type StepRow } from './proactivity.ts'
import { TOPICS } from './topics.ts'

test('docs/flow.md is what the graph says', () => {
  const page = readFileSync(join(import.meta.dirname, '../docs/flow.md'), 'utf8')
  assert.equal(page, flowPage())
})

test('every topic of the catalogue is written by some step and read by another', () => {
  const rows: StepRow[] = Object.values(STEPS)
  const written = new Set<string>(rows.flatMap(row => row.writes))
  const read = new Set<string>(rows.flatMap(row => [...row.reads, ...row.tables]))
  const unwritten = Object.keys(TOPICS).filter(topic => !written.has(topic))
  // Waited for by the registry client, and journals that only a rebuild reads.
  const readElsewhere = ['registry.answers', 'guard.state', 'verdicts']
  const unread = Object.keys(TOPICS).filter(
    topic => !read.has(topic) && !readElsewhere.includes(topic),
  )
  assert.deepEqual({ unwritten, unread }, { unwritten: [], unread: [] })
})
