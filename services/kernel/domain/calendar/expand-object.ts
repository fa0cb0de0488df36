/**
 * The instances of a calendar object: what its rules give, without what was taken away, with what
 * was added, and each exception in the place of the instance that it names.
 */
import { parseWrittenTime } from '../recurrence/local-time.ts'
import { type CalendarObject, type Exception, isSeries, type Meeting } from './calendar-object.ts'
import { endOf, localAt, localInstant, shiftLocal } from './local-instant.ts'
import { seriesStarts } from './series-starts.ts'

export type Edge = 'start' | 'end'

/** One time that something happens. Instants are ms since the epoch. */
export interface Instance {
  uid: string
  /** Where the series has it, local in the zone of the series; `null` for a single meeting. */
  recurrenceId: string | null
  startMs: number
  endMs: number
  /** Status, title, attendees and categories of this instance. */
  meeting: Meeting
}

/** Which instances are asked for. */
export interface InstanceQuery {
  /** The edge that counts for `afterMs` and `beforeMs`, and for the order. */
  edge: Edge
  /** Only edges after it. */
  afterMs: number
  /** Only edges before it. Default: no end. */
  beforeMs?: number
  limit: number
  /** Default: all that are not cancelled. */
  accept?(meeting: Meeting): boolean
}

/** Most instances that are looked at for one answer; a rule may be excluded for ever. */
const LOOKS_MAX = 20_000
const DAY_MS = 86_400_000

/**
 * Instances whose start lies in `[fromMs, toMs)`, in order, cancelled ones too, at most `limit`.
 */
export function expandObject(
  object: CalendarObject,
  fromMs: number,
  toMs: number,
  limit: number,
): Instance[] {
  const query = { edge: 'start' as const, afterMs: fromMs - 1, beforeMs: toMs, limit }
  return nextInstances(object, { ...query, accept: () => true })
}

/** The next instances by one of their edges, in order of it. */
export function nextInstances(object: CalendarObject, query: InstanceQuery): Instance[] {
  const { edge, afterMs, beforeMs = Number.POSITIVE_INFINITY, limit } = query
  const accept = query.accept ?? (({ status }: Meeting) => status !== 'cancelled')
  const at = (instance: Instance) => (edge === 'start' ? instance.startMs : instance.endMs)
  const found: Instance[] = []
  const take = (instance: Instance) => {
    const isWanted = at(instance) > afterMs && at(instance) < beforeMs
    if (isWanted && accept(instance.meeting)) found.push(instance)
  }
  const inOrder = () => found.sort((a, b) => at(a) - at(b) || a.startMs - b.startMs)
  const { main } = object
  for (const exception of object.exceptions) take(exceptionInstance(object, exception))
  if (!main) return inOrder().slice(0, limit)
  const plan = planOf(object, main, edge)
  const untilMs = acceptedUntil(object, main, { plan, accept })
  if (untilMs === Number.NEGATIVE_INFINITY) return inOrder().slice(0, limit)
  let looks = 0
  for (const base of seriesStarts(object, main, afterMs - plan.latestMs)) {
    if (++looks > LOOKS_MAX || base >= untilMs || base + plan.earliestMs >= beforeMs) break
    if (found.length >= limit && base + plan.earliestMs > at(inOrder()[limit - 1] as Instance))
      break
    if (!plan.named.has(base)) take(baseInstance(object, main, { base, plan }))
  }
  return inOrder().slice(0, limit)
}

/** What exceptions do to the others, and how far an edge may lie from where its instance stood. */
interface Plan {
  named: Set<number>
  /** `RANGE=THISANDFUTURE`, by the instant from which they hold. */
  future: { fromMs: number; exception: Exception; seconds: number }[]
  earliestMs: number
  latestMs: number
}

function planOf(object: CalendarObject, main: Meeting, edge: Edge): Plan {
  const named = new Set(object.exceptions.map(({ recurrenceId }) => localInstant(recurrenceId)))
  const future = object.exceptions
    .filter(({ isFuture }) => isFuture)
    .map(exception => {
      const fromMs = localInstant(exception.recurrenceId)
      return { fromMs, exception, seconds: shiftOf(exception, fromMs) }
    })
    .sort((a, b) => a.fromMs - b.fromMs)
  const shifts = [0, ...future.map(({ seconds }) => seconds * 1000)]
  const spans = [main, ...future.map(({ exception }) => exception)].map(({ span }) =>
    edge === 'start' ? 0 : (span.days + (span.days > 0 ? 1 : 0)) * DAY_MS + span.ms,
  )
  // An hour of the clock may last two, or none, where a shift crosses a change of offset.
  const slack = future.length > 0 ? DAY_MS : 0
  return {
    named,
    future,
    earliestMs: Math.min(...shifts) - slack,
    latestMs: Math.max(...shifts) + Math.max(...spans) + slack,
  }
}

/**
 * From where on the series itself gives nothing that is accepted, so that an endless one that was
 * cancelled is not searched to the end of time.
 */
function acceptedUntil(
  object: CalendarObject,
  main: Meeting,
  { plan, accept }: { plan: Plan; accept(meeting: Meeting): boolean },
): number {
  const rulings = [{ fromMs: Number.NEGATIVE_INFINITY, exception: main }, ...plan.future]
  const last = rulings.findLastIndex(({ exception }) => accept(asIn(object, exception)))
  if (last < 0) return Number.NEGATIVE_INFINITY
  return rulings[last + 1]?.fromMs ?? Number.POSITIVE_INFINITY
}

/** Seconds on its clock by which an exception moves its instance. */
function shiftOf({ start }: Exception, fromMs: number): number {
  const was = parseWrittenTime(localAt(fromMs, start.zone).local)
  const is = parseWrittenTime(start.local)
  return was && is ? is.seconds - was.seconds : 0
}

function baseInstance(
  object: CalendarObject,
  main: Meeting,
  { base, plan }: { base: number; plan: Plan },
): Instance {
  const ruling = plan.future.findLast(({ fromMs }) => fromMs <= base)
  const recurrenceId = nameOf(object, main, base)
  if (!ruling) return instanceOf(object, main, { startMs: base, recurrenceId })
  const { exception, seconds } = ruling
  const startMs = localInstant(shiftLocal(localAt(base, exception.start.zone), seconds))
  return instanceOf(object, exception, { startMs, recurrenceId })
}

function exceptionInstance(object: CalendarObject, exception: Exception): Instance {
  const named = localInstant(exception.recurrenceId)
  const recurrenceId = object.main ? nameOf(object, object.main, named) : nameIn(exception, named)
  return instanceOf(object, exception, { startMs: localInstant(exception.start), recurrenceId })
}

/** The name of an instance comes from its instant, so that a rule and an exception agree on it. */
function nameOf(object: CalendarObject, main: Meeting, atMs: number): string | null {
  return isSeries(object) ? nameIn(main, atMs) : null
}

function nameIn({ start, allDay }: Meeting, atMs: number): string {
  const { local } = localAt(atMs, start.zone)
  if (allDay) return local.slice(0, 10)
  return start.zone === 'UTC' ? `${local}Z` : local
}

function instanceOf(
  object: CalendarObject,
  meeting: Meeting,
  { startMs, recurrenceId }: { startMs: number; recurrenceId: string | null },
): Instance {
  return {
    uid: object.uid,
    recurrenceId,
    startMs,
    endMs: endOf(startMs, meeting.span, meeting.start.zone),
    meeting: asIn(object, meeting),
  }
}

/** Who cancels the series cancels its exceptions. */
function asIn({ main }: CalendarObject, meeting: Meeting): Meeting {
  return main?.status === 'cancelled' ? { ...meeting, status: 'cancelled' } : meeting
}
