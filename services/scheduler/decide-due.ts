/**
 * What becomes of the due instants of one schedule: fired, or missed with a reason. Pure.
 *
 * - D1 Every instant between the mark and now ends here, once: as a firing or inside a gap.
 * - D2 Nothing is fired before its instant, nor before its jitter has passed.
 * - D3 The mark never goes back, so a clock that does fires nothing twice.
 * - D4 The work is bounded, however long nobody was there.
 */
import type { DueInstant, ScheduleKind } from '#kernel/domain/schedule/coming-instants.ts'

export type MissedRule = 'latest' | 'all' | 'none'

/** Why instants were not fired; words for people and for counting. */
export type GapReason =
  /** A later one was fired in their place. */
  | 'later-one-fired'
  /** Nobody was there in time, and what is left of their use is over. */
  | 'too-late'
  /** The rule `none`: what nobody was there for is not wanted. */
  | 'not-wanted-late'
  /** The meeting had begun (or ended) before the reminder could be sent. */
  | 'meeting-begun'
  /** A meeting was put, or moved, to where its reminder lies in the past. */
  | 'set-in-the-past'

export interface Gap {
  fromMs: number
  toMs: number
  /** Instants in it; at least so many when it is `COUNTED_MAX`. */
  count: number
  reason: GapReason
}

export interface Firing {
  instant: DueInstant
  /** Ms after its instant and its jitter. */
  lateMs: number
  /** Instants that it stands for besides its own. */
  missedCount: number
}

export interface Decision {
  firings: Firing[]
  gaps: Gap[]
  /** Everything up to this instant is decided. */
  decidedMs: number
  /** The first instant after those, where it came to light; null when none comes. */
  next?: DueInstant | null
}

/** One schedule at one moment. */
export interface ScheduleCase {
  kind: ScheduleKind
  missed: MissedRule
  /** The mark: everything up to it was decided. */
  decidedMs: number
  nowMs: number
  /** Since when the owner has watched without a break. */
  watchedSinceMs: number
  /** Edge and sign of an anchor: does it want to be told before? */
  isBefore: boolean
  /** The next instants after another, earliest first. */
  coming(afterMs: number, limit: number): DueInstant[]
  /** Ms by which the dispatch of an instant is put off. */
  jitter(instant: DueInstant): number
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** How far back `all` and one-shots reach. */
export const CATCH_UP_MS = 24 * HOUR_MS
/** Instants that `all` fires at once. */
export const CATCH_UP_MAX = 100
/** Instants of a gap that are counted one by one (D4). */
export const COUNTED_MAX = 10_000
/** Instants asked for: one is due nearly always, so more are computed only when it is not alone. */
const LOOKS = [2, 32, 1000, COUNTED_MAX]
/** Up to this nobody calls an event late. */
export const ON_TIME_MS = 1000
const GRACE_MIN_MS = MINUTE_MS
const GRACE_MAX_MS = HOUR_MS

/** Decides everything that is due. */
export function decideDue(at: ScheduleCase): Decision {
  const { due, next } = dueInstants(at)
  const last = due.at(-1)
  if (!last) return { firings: [], gaps: [], decidedMs: at.decidedMs, next }
  const { firings, gaps } = RULES[at.kind](at, due)
  return { firings, gaps, decidedMs: Math.max(at.decidedMs, last.atMs), next }
}

type Fates = Pick<Decision, 'firings' | 'gaps'>

const RULES: Record<ScheduleKind, (at: ScheduleCase, due: DueInstant[]) => Fates> = {
  once: decideOnce,
  recurrence: (at, due) => RECURRENCE_RULES[at.missed](at, due),
  anchor: decideAnchors,
}

const RECURRENCE_RULES: Record<MissedRule, (at: ScheduleCase, due: DueInstant[]) => Fates> = {
  latest: (at, due) => fireLatest(at, due, graceOf(at, due)),
  none: (at, due) => {
    const wasThere = (due.at(-1)?.atMs ?? 0) >= at.watchedSinceMs
    if (wasThere) return fireLatest(at, due, graceOf(at, due))
    return fireLatest(at, due, ON_TIME_MS, 'not-wanted-late')
  },
  all: fireAll,
}

/**
 * The instants that are due, in order. Beyond the bound only the newest hour is looked at one by
 * one: nothing older could be fired by the rules but by `all`, whose window is searched too.
 */
function dueInstants(at: ScheduleCase): { due: DueInstant[]; next?: DueInstant | null } {
  const isDue = (instant: DueInstant) => instant.atMs + at.jitter(instant) <= at.nowMs
  let found: DueInstant[] = []
  for (const limit of LOOKS) {
    found = at.coming(at.decidedMs, limit)
    const due = prefix(found, isDue)
    if (due.length < limit) return { due, next: found[due.length] ?? null }
  }
  const backMs = at.missed === 'all' ? CATCH_UP_MS : GRACE_MAX_MS
  const recentMs = Math.max(at.decidedMs, at.nowMs - backMs)
  const recent = prefix(at.coming(recentMs, COUNTED_MAX), isDue)
  const before = found.filter(({ atMs }) => atMs < (recent[0]?.atMs ?? Number.POSITIVE_INFINITY))
  return { due: [...before, ...recent] }
}

/** In nominal order: one whose jitter is not over holds back those after it. */
function prefix(instants: DueInstant[], isDue: (instant: DueInstant) => boolean): DueInstant[] {
  const end = instants.findIndex(instant => !isDue(instant))
  return end < 0 ? instants : instants.slice(0, end)
}

function latenessOf(at: ScheduleCase, instant: DueInstant): number {
  return Math.max(0, at.nowMs - instant.atMs - at.jitter(instant))
}

const firingOf = (at: ScheduleCase, instant: DueInstant, missedCount = 0): Firing => ({
  instant,
  lateMs: latenessOf(at, instant),
  missedCount,
})

/** Half the distance to the next one, at least a minute and at most an hour. */
function graceOf(at: ScheduleCase, due: DueInstant[]): number {
  const newest = due.at(-1)
  if (!newest || latenessOf(at, newest) <= GRACE_MIN_MS) return GRACE_MIN_MS
  const newestMs = newest.atMs
  const [next] = at.coming(newestMs, 1)
  if (!next) return GRACE_MAX_MS
  return Math.min(GRACE_MAX_MS, Math.max(GRACE_MIN_MS, (next.atMs - newestMs) / 2))
}

/** One-shots fire however late, up to a day. */
function decideOnce(at: ScheduleCase, due: DueInstant[]): Fates {
  return fireLatest(at, due, CATCH_UP_MS)
}

function fireLatest(
  at: ScheduleCase,
  due: DueInstant[],
  graceMs: number,
  reason: GapReason = 'too-late',
): Fates {
  const newest = due.at(-1)
  if (!newest) return { firings: [], gaps: [] }
  if (latenessOf(at, newest) > graceMs) return { firings: [], gaps: gapOf(due, reason) }
  const others = due.filter(({ atMs }) => atMs < newest.atMs)
  const together = due.slice(others.length)
  return {
    firings: together.map((each, n) => firingOf(at, each, n === 0 ? others.length : 0)),
    gaps: gapOf(others, reason === 'too-late' ? 'later-one-fired' : reason),
  }
}

/** All of the last day, oldest first; of more than a hundred the newest hundred. */
function fireAll(at: ScheduleCase, due: DueInstant[]): Fates {
  const inWindow = due.filter(instant => latenessOf(at, instant) <= CATCH_UP_MS)
  const fired = inWindow.slice(-CATCH_UP_MAX)
  const missed = due.slice(0, due.length - fired.length)
  const firings = fired.map((instant, n) => firingOf(at, instant, n === 0 ? missed.length : 0))
  return { firings, gaps: gapOf(missed, 'too-late') }
}

/**
 * Each meeting is a happening of its own. One that the calendar put into the past was never
 * due; before its edge a reminder is useful until then, after it the missed rule applies to what
 * is late.
 */
function decideAnchors(at: ScheduleCase, due: DueInstant[]): Fates {
  const isPast = ({ anchor, atMs }: DueInstant) => (anchor?.toldMs ?? 0) >= atMs
  const past = due.filter(isPast)
  const real = due.filter(instant => !past.includes(instant))
  const gaps = gapOf(past, 'set-in-the-past')
  if (at.isBefore) {
    const hasBegun = ({ anchor }: DueInstant) => (anchor?.edgeMs ?? 0) <= at.nowMs
    const firings = real.filter(instant => !hasBegun(instant)).map(each => firingOf(at, each))
    return { firings, gaps: [...gaps, ...gapOf(real.filter(hasBegun), 'meeting-begun')] }
  }
  const isOnTime = (instant: DueInstant) => latenessOf(at, instant) <= ON_TIME_MS
  const late = real.filter(instant => !isOnTime(instant))
  const fates = RECURRENCE_RULES[at.missed](at, late)
  const onTime = real.filter(isOnTime).map(instant => firingOf(at, instant))
  return { firings: [...fates.firings, ...onTime], gaps: [...gaps, ...fates.gaps] }
}

function gapOf(instants: DueInstant[], reason: GapReason): Gap[] {
  const first = instants[0]
  const last = instants.at(-1)
  if (!first || !last) return []
  return [{ fromMs: first.atMs, toMs: last.atMs, count: instants.length, reason }]
}
