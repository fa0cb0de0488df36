/**
 * Measures our match index on a workload directory, in a process of its own, and prints one JSON
 * line: node loadtest/match/measure.ts DIRECTORY WARMUPS PASSES. The peer's program does the same
 * steps in the same order.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { MatchSpec } from '#kernel/domain/filter/compile-filters.ts'
import type { Filter } from '#kernel/domain/filter/filter-schema.ts'
import { createMatchIndex, type MatchIndex } from '#services/evaluator/match-index.ts'
import type { PatternLine } from './workload.ts'

const [directory = '', warmups = '3', passes = '3'] = process.argv.slice(2)
const patterns = readLines('subs.jsonl')
const events = readLines('events.jsonl')
globalThis.gc?.()
const emptyBytes = process.memoryUsage().rss

// The first load is what a starting service waits for; the best one has every compiler warmed up.
let index = createMatchIndex()
const loads: number[] = []
for (let round = 0; round < Math.max(1, Number(passes)); round++) {
  index = createMatchIndex()
  globalThis.gc?.()
  const started = performance.now()
  load(index, patterns)
  loads.push(performance.now() - started)
}
globalThis.gc?.()
const { rss, heapUsed } = process.memoryUsage()

let matches = 0
for (let round = 0; round < Number(warmups); round++) matches = pass(index, events)
let eventsPerSecond = 0
for (let round = 0; round < Number(passes); round++) {
  const started = performance.now()
  matches = pass(index, events)
  eventsPerSecond = Math.max(
    eventsPerSecond,
    (events.length / (performance.now() - started)) * 1_000,
  )
}
process.stdout.write(
  `${JSON.stringify({
    loadMs: loads[0],
    warmLoadMs: Math.min(...loads),
    eventsPerSecond,
    matches,
    heapBytes: heapUsed,
    rssBytes: rss,
    emptyBytes,
  })}\n`,
)

function readLines(name: string): string[] {
  return fs.readFileSync(path.join(directory, name), 'utf8').trimEnd().split('\n')
}

function load(into: MatchIndex, lines: readonly string[]): void {
  for (const line of lines) {
    const { id, pattern }: PatternLine = JSON.parse(line)
    into.set(id, specOf(pattern))
  }
}

function pass(asked: MatchIndex, lines: readonly string[]): number {
  let count = 0
  for (const line of lines) count += asked.match(JSON.parse(line)).length
  return count
}

/** The peer's pattern in our dialects: a list is `any` of `exact`, a prefix is `prefix`. */
function specOf({ type, source, data }: PatternLine['pattern']): MatchSpec {
  const exact: Record<string, string> = {}
  const filters: Filter[] = [{ exact }]
  addList('type', type)
  addList('data.service', data.service)
  addList('data.severity', data.severity)
  for (const { prefix } of source ?? []) filters.push({ prefix: { source: prefix } })
  return { filters }

  function addList(attribute: string, values: readonly string[] = []): void {
    const [only] = values
    if (values.length === 1 && only !== undefined) exact[attribute] = only
    if (values.length < 2) return
    filters.push({ any: values.map(value => ({ exact: { [attribute]: value } })) })
  }
}
