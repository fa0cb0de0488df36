/**
 * Next occurrences per second beside `rrule` and `rrule-temporal`, each used as its page says, in a
 * process of its own; prints one JSON line.
 */
import rrule from 'rrule'
import { RRuleTemporal } from 'rrule-temporal'
import { comingInstants } from '#kernel/domain/schedule/coming-instants.ts'
import { scheduleOf } from './workload.ts'

const RULES = 400
const ROUNDS = 5
const after = Date.UTC(2026, 11, 1)

const schedules = Array.from({ length: RULES }, (_, n) => scheduleOf(n))
const texts = schedules.map(schedule => {
  const {
    dtstart,
    tzid,
    rrule: rule,
  } = schedule as {
    dtstart: string
    tzid: string
    rrule: string
  }
  return `DTSTART;TZID=${tzid}:${dtstart.replaceAll(/[-:]/g, '')}\nRRULE:${rule}`
})
const plain = texts.map(text => rrule.rrulestr(text))
const temporal = texts.map(text => new RRuleTemporal({ rruleString: text }))

const ours = best(RULES, (n, at) => comingInstants(schedules[n] ?? scheduleOf(n), at, 1)[0]?.atMs)
// It walks from DTSTART in every call, so that fewer of them must do.
const theirs = best(20, (n, at) => plain[n]?.after(new Date(at)))
const temporals = best(RULES, (n, at) => temporal[n]?.next(new Date(at)))
process.stdout.write(`${JSON.stringify({ ours, rrule: theirs, temporal: temporals })}\n`)

/** Answers per second of the best round; each round asks for another time. */
function best(count: number, next: (n: number, afterMs: number) => unknown): number {
  let fastest = 0
  for (let round = 0; round < ROUNDS; round++) {
    const started = performance.now()
    for (let n = 0; n < count; n++) next(n, after + round * 977_000_000)
    fastest = Math.max(fastest, (count / (performance.now() - started)) * 1000)
  }
  return fastest
}
