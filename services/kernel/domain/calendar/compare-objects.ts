/** What an import changes in a calendar, so that only that is written. */
import type { CalendarObject, Exception, Meeting } from './calendar-object.ts'
import { isOlder } from './is-older.ts'

export interface ObjectChange {
  object: CalendarObject
  /** `edited`: other words, same instants. */
  how: 'added' | 'moved' | 'edited'
}

export interface ObjectChanges {
  changed: ObjectChange[]
  /** UIDs that the import does not have any more. */
  removed: string[]
  /** UIDs whose stored revision is newer than the imported one, which was left out. */
  stale: string[]
}

/**
 * Holds an import against what is stored. `kept` are UIDs of components that could not be read:
 * what is stored of them stays.
 */
export function compareObjects(
  stored: ReadonlyMap<string, CalendarObject>,
  imported: readonly CalendarObject[],
  kept: ReadonlySet<string> = new Set(),
): ObjectChanges {
  const changes: ObjectChanges = { changed: [], removed: [], stale: [] }
  const present = new Set(kept)
  for (const object of imported) {
    present.add(object.uid)
    const before = stored.get(object.uid)
    const how = before ? changeOf(before, object) : 'added'
    if (how === 'stale') changes.stale.push(object.uid)
    else if (how !== null) changes.changed.push({ object, how })
  }
  for (const uid of stored.keys()) if (!present.has(uid)) changes.removed.push(uid)
  return changes
}

/** How an object differs from its former state; `null` when it does not. */
export function changeOf(
  before: CalendarObject,
  after: CalendarObject,
): 'moved' | 'edited' | 'stale' | null {
  if (isStale(before, after)) return 'stale'
  if (!isSame(timesOf(before), timesOf(after))) return 'moved'
  return isSame(wordsOf(before), wordsOf(after)) ? null : 'edited'
}

/** An older revision by number and by date: a copy that was late. One of both may be a mistake. */
function isStale({ main: before }: CalendarObject, { main: after }: CalendarObject): boolean {
  if (!before || !after || before.stampMs === null || after.stampMs === null) return false
  return (
    after.sequence < before.sequence && isOlder(after, before) && after.stampMs < before.stampMs
  )
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

const timeOf = ({ start, span, allDay, status }: Meeting) => ({
  ...{ local: start.local, zone: start.zone, days: span.days, ms: span.ms, allDay },
  isCancelled: status === 'cancelled',
})

const byName = (a: Exception, b: Exception) =>
  a.recurrenceId.local < b.recurrenceId.local ? -1 : 1

/** Everything that instants depend on; lists are sets. */
function timesOf(object: CalendarObject) {
  const { main, rrules, exrules, rdates, exdates, exceptions } = object
  const listed = (times: CalendarObject['rdates']) =>
    times.map(({ local, zone, isDay = false }) => `${local} ${zone} ${isDay}`).sort()
  return {
    main: main && timeOf(main),
    ...{ rrules: [...rrules].sort(), exrules: [...exrules].sort() },
    ...{ rdates: listed(rdates), exdates: listed(exdates) },
    exceptions: exceptions.toSorted(byName).map(exception => ({
      ...timeOf(exception),
      of: [exception.recurrenceId.local, exception.recurrenceId.zone, exception.isFuture],
    })),
  }
}

/** Programs stamp every export anew, so the stamp alone is no change. */
const wordsOf = ({ main, exceptions }: CalendarObject) =>
  [main, ...exceptions.toSorted(byName)].map(part => {
    if (!part) return null
    const { status, sequence, summary, attendees, categories } = part
    return { status, sequence, summary, attendees, categories }
  })
