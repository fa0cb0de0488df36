import fs from 'node:fs'
import path from 'node:path'
import { createRandom, type Random } from '../seeded-random.ts'

/** One subscription of a workload, as the peer reads it (EventBridge pattern syntax). */
export interface PatternLine {
  id: string
  pattern: {
    type?: string[]
    source?: { prefix: string }[]
    data: { service: string[]; severity: string[] }
  }
}

/** Where and how large. */
export interface WorkloadOptions {
  subscriptions: number
  events: number
  directory: string
  seed?: number
}

const SEVERITIES = ['low', 'medium', 'high', 'critical']
const REGIONS = ['eu-1', 'eu-2', 'us-1', 'us-2', 'ap-1']
const TYPES = 200
/** Subscriptions of the growth workload that events can match. */
const MATCHING = 1_000

/**
 * Writes `subs.jsonl` and `events.jsonl`: subscriptions to a service, most also to a type and a
 * region, and events over the same values. Deterministic by the seed.
 */
export function writeWorkload(options: WorkloadOptions): void {
  const random = createRandom(options.seed ?? 42)
  const services = Math.max(200, Math.floor(options.subscriptions / 50))
  const lines = Array.from({ length: options.subscriptions }, (_, at) =>
    patternLine(random, at, services),
  )
  writeLines(options.directory, 'subs.jsonl', lines)
  const events = Array.from({ length: options.events }, (_, at) => eventOf(random, at, services))
  writeLines(options.directory, 'events.jsonl', events)
}

/**
 * The same events and the same thousand subscriptions that can match, whatever the size; every
 * further subscription differs from each event in one value: service, type or severity.
 */
export function writeGrowthWorkload(options: WorkloadOptions): void {
  const random = createRandom(options.seed ?? 42)
  const matching = Array.from({ length: MATCHING }, (_, at) => patternLine(random, at, TYPES))
  const events = Array.from({ length: options.events }, (_, at) => eventOf(random, at, TYPES))
  const others = Array.from({ length: options.subscriptions - MATCHING }, (_, at) =>
    unmatched(patternLine(random, MATCHING + at, TYPES), at),
  )
  writeLines(options.directory, 'subs.jsonl', [...matching, ...others])
  writeLines(options.directory, 'events.jsonl', events)
}

function patternLine(random: Random, at: number, services: number): PatternLine {
  const severity = random.share() < 0.5 ? [random.pick(SEVERITIES)] : twoSeverities(random)
  const pattern: PatternLine['pattern'] = {
    type: [`com.acme.type${random.int(TYPES)}`],
    source: [{ prefix: `/region/${random.pick(REGIONS)}/` }],
    data: { service: [`svc-${random.int(services)}`], severity },
  }
  if (random.share() < 0.3) delete pattern.type
  if (random.share() < 0.3) delete pattern.source
  return { id: `s${at}`, pattern }
}

function twoSeverities(random: Random): string[] {
  return [...new Set([random.pick(SEVERITIES), random.pick(SEVERITIES)])]
}

function unmatched({ id, pattern }: PatternLine, at: number): PatternLine {
  const { data } = pattern
  if (at % 3 === 0) return { id, pattern: { ...pattern, type: [`com.acme.other${at % TYPES}`] } }
  const changed = at % 3 === 1 ? { service: [`other-${at}`] } : { severity: ['debug'] }
  return { id, pattern: { ...pattern, data: { ...data, ...changed } } }
}

function eventOf(random: Random, at: number, services: number): unknown {
  return {
    specversion: '1.0',
    id: `e${at}`,
    type: `com.acme.type${random.int(TYPES)}`,
    source: `/region/${random.pick(REGIONS)}/host-${random.int(500)}`,
    time: '2026-11-30T12:00:00Z',
    data: {
      service: `svc-${random.int(services)}`,
      severity: random.pick(SEVERITIES),
      amount: random.int(1000),
      text: `order ${random.int(1e6)} was updated by a customer in the shop`,
      nested: { a: random.int(10), b: `x${random.int(100)}` },
    },
  }
}

function writeLines(directory: string, name: string, values: readonly unknown[]): void {
  fs.mkdirSync(directory, { recursive: true })
  const text = values.map(value => `${JSON.stringify(value)}\n`).join('')
  fs.writeFileSync(path.join(directory, name), text)
}
