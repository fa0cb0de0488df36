/** Where a series would have its instances, before any exception: rules and listed times merged. */
import { occurrencesOf, readRule } from '../recurrence/next-occurrences.ts'
import type { CalendarObject, ListedTime, Meeting } from './calendar-object.ts'
import { dayNamed, localAt, localInstant } from './local-instant.ts'

/** Occurrences asked for at once: the first answer is mostly enough. */
const PAGE_MAX = 32

/**
 * Starts after an instant, ascending, without end where a rule has none. DTSTART is the first
 * instance, also where the rule misses it (RFC 5545 3.8.2.4); EXDATE wins over everything.
 */
export function* seriesStarts(
  { rrules, exrules, rdates, exdates }: CalendarObject,
  main: Meeting,
  afterMs: number,
): Generator<number> {
  const listed = [...new Set([main.start, ...rdates].map(localInstant))].sort((a, b) => a - b)
  const rules = rrules.map(rrule => occurrences(main, rrule, afterMs))
  const given = mergeStarts([listed.filter(at => at > afterMs)[Symbol.iterator](), ...rules])
  const isRemoved = removal(main, exdates)
  const excluded = exrules.map(rrule => follow(occurrences(main, rrule, afterMs)))
  for (const at of given) {
    if (!isRemoved(at) && !excluded.some(reaches => reaches(at))) yield at
  }
}

function* occurrences({ start }: Meeting, rrule: string, afterMs: number): Generator<number> {
  const rule = readRule({ dtstart: start.local, tzid: start.zone, rrule })
  // Rules were read when the object was; one that is unreadable now gives nothing.
  if ('problem' in rule) return
  let after = afterMs
  for (let size = 2; ; size = Math.min(PAGE_MAX, size * 4)) {
    const page = occurrencesOf(rule, after, size)
    for (const { atMs } of page) yield atMs
    const last = page.at(-1)
    if (!last || page.length < size) return
    after = last.atMs
  }
}

/** Ascending sequences as one, each value once. */
function* mergeStarts(sources: Iterator<number>[]): Generator<number> {
  const heads = sources.map(source => ({ source, next: source.next() }))
  for (;;) {
    const open = heads.filter(({ next }) => !next.done)
    if (open.length === 0) return
    const least = Math.min(...open.map(({ next }) => next.value))
    for (const head of open) if (head.next.value === least) head.next = head.source.next()
    yield least
  }
}

/** Asked with growing instants: is this one of the sequence? */
function follow(source: Iterator<number>): (at: number) => boolean {
  let next = source.next()
  return at => {
    while (!next.done && next.value < at) next = source.next()
    return !next.done && next.value === at
  }
}

function removal(main: Meeting, exdates: readonly ListedTime[]): (at: number) => boolean {
  const { zone } = main.start
  const byDay = exdates.filter(({ isDay }) => isDay || main.allDay)
  const days = new Set(byDay.map(exdate => dayNamed(exdate, zone)))
  const instants = new Set(
    main.allDay ? [] : exdates.filter(({ isDay }) => !isDay).map(localInstant),
  )
  return at => instants.has(at) || (days.size > 0 && days.has(localAt(at, zone).local.slice(0, 10)))
}
