/**
 * The derived index of coming instants: in memory, only the next one of each schedule, rebuilt
 * from the topics whenever needed. It knows nothing of the log and has no timers.
 *
 * - X1 The newest version of a subscription and the highest mark win, in whatever order they come.
 * - X2 Tenants take turns: what is due of one never waits behind a flood of another (fair order).
 * - X3 An entry that was taken is nobody else's until it is put back or replaced.
 */
import type { FindAnchors } from '#kernel/domain/schedule/coming-instants.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { ScheduleMark } from '#schemas/generated/records.ts'
import type { Decision } from './decide-due.ts'
import { createDueHeap, type DueHeap } from './due-heap.ts'
import {
  entryOf,
  type MarkFacts,
  planKnown,
  planNext,
  type ScheduleEntry,
  takeMark,
} from './schedule-entry.ts'

export interface ScheduleIndex {
  /** Entries held. */
  readonly size: number
  /** When the first entry is to be looked at; Infinity when nothing comes. */
  nextMs(): number
  /**
   * Takes a subscription as its table has it; older versions change nothing. Answers its entry,
   * where that is new or has a new version.
   */
  setSubscription(
    subscription: Subscription,
    place: { key: string; partition: number },
  ): ScheduleEntry | undefined
  /** Takes a mark; answers true when it is behind what is known here. */
  setMark(key: string, mark: Pick<ScheduleMark, MarkFacts>): boolean
  /** Plans everything of partitions that were read from the beginning. */
  ready(partitions: ReadonlySet<number>): void
  /** Forgets what belongs to no longer owned partitions. */
  keepOnly(partitions: ReadonlySet<number>): void
  /** Plans the anchors of a calendar anew. */
  calendarChanged(tenant: string, calendar: string): void
  /** Up to `max` entries that are due, tenants in turn; they are out until put back. */
  takeDue(nowMs: number, max: number): ScheduleEntry[]
  /**
   * Puts an entry back and plans it; one that was replaced or removed meanwhile is dropped. `next`
   * is the instant after what was decided, where it is known.
   */
  putBack(entry: ScheduleEntry, decided?: Pick<Decision, 'next' | 'decidedMs'>): void
  get(key: string): ScheduleEntry | undefined
  /** Every entry of the given partitions. */
  all(): Iterable<ScheduleEntry>
  /** Is it still what the index holds? */
  holds(entry: ScheduleEntry): boolean
  /** Entries anchored in a calendar. */
  anchoredIn(tenant: string, calendar: string): Iterable<ScheduleEntry>
}

interface State {
  findAnchors(tenant: string): FindAnchors
  entries: Map<string, ScheduleEntry>
  tenants: Map<string, DueHeap>
  /** Marks that came before their subscription while a partition is read. */
  early: Map<string, Pick<ScheduleMark, MarkFacts>>
  anchored: Map<string, Set<ScheduleEntry>>
  /** Versions of subscriptions that have no entry now: paused, deleted, waiting for approval. */
  resting: Map<string, number>
  isReady(partition: number): boolean
}

export function createScheduleIndex(findAnchors: (tenant: string) => FindAnchors): ScheduleIndex {
  const planned = new Set<number>()
  const state: State = {
    findAnchors,
    entries: new Map(),
    tenants: new Map(),
    early: new Map(),
    anchored: new Map(),
    resting: new Map(),
    isReady: partition => planned.has(partition),
  }
  const { entries, tenants, early, anchored } = state
  return {
    get size() {
      return entries.size
    },
    nextMs: () => earliest(tenants),
    setSubscription: (subscription, place) => setSubscription(state, subscription, place),
    setMark: (key, mark) => setMark(state, key, mark),
    ready(partitions) {
      for (const partition of partitions) planned.add(partition)
      early.clear()
      for (const entry of entries.values()) {
        if (partitions.has(entry.partition)) plan(state, entry)
      }
    },
    keepOnly(partitions) {
      for (const partition of planned) if (!partitions.has(partition)) planned.delete(partition)
      state.resting.clear()
      for (const entry of entries.values()) {
        if (!partitions.has(entry.partition)) remove(state, entry)
      }
    },
    calendarChanged(tenant, calendar) {
      for (const entry of anchored.get(calendarKey(tenant, calendar)) ?? []) {
        if (state.isReady(entry.partition)) replan(state, entry)
      }
    },
    takeDue: (nowMs, max) => takeDue(tenants, nowMs, max),
    putBack(entry, decided) {
      if (entries.get(entry.key) !== entry) return
      const next = decided?.decidedMs === entry.decidedMs ? decided.next : undefined
      if (next !== undefined && planKnown(entry, next)) put(state, entry)
      else plan(state, entry)
    },
    get: key => entries.get(key),
    all: () => entries.values(),
    holds: entry => entries.get(entry.key) === entry,
    anchoredIn: (tenant, calendar) => anchored.get(calendarKey(tenant, calendar)) ?? [],
  }
}

const calendarKey = (tenant: string, calendar: string) => `${tenant}\n${calendar}`

function setSubscription(
  state: State,
  subscription: Subscription,
  place: { key: string; partition: number },
): ScheduleEntry | undefined {
  const { entries, early, resting } = state
  const known = entries.get(place.key)
  const version = known?.version ?? resting.get(place.key) ?? 0
  if (version >= subscription.version) return undefined
  const entry = entryOf(subscription, place)
  const isSame =
    entry !== undefined &&
    known?.revision === entry.revision &&
    known.sinceMs === entry.sinceMs &&
    known.partition === entry.partition
  if (isSame) {
    known.version = subscription.version
    return known
  }
  if (known) remove(state, known)
  if (!entry) {
    if (subscription.schedule) resting.set(place.key, subscription.version)
    return undefined
  }
  resting.delete(entry.key)
  entries.set(entry.key, entry)
  if ('anchor' in entry.schedule) {
    const key = calendarKey(entry.tenant, entry.schedule.anchor.calendar)
    const others = state.anchored.get(key) ?? new Set()
    state.anchored.set(key, others.add(entry))
  }
  const mark = early.get(entry.key)
  if (mark) takeMark(entry, mark)
  if (state.isReady(entry.partition)) plan(state, entry)
  return entry
}

function setMark(state: State, key: string, mark: Pick<ScheduleMark, MarkFacts>): boolean {
  const entry = state.entries.get(key)
  if (!entry) {
    const before = state.early.get(key)
    const isNewer =
      !before || before.decidedMs <= mark.decidedMs || before.revision !== mark.revision
    if (isNewer) state.early.set(key, mark)
    return false
  }
  if (mark.revision !== entry.revision) return false
  if (mark.decidedMs < entry.decidedMs) return mark.decidedMs > entry.sinceMs
  const isNews = mark.decidedMs > entry.decidedMs
  takeMark(entry, mark)
  if (isNews && entry.heapAt >= 0) replan(state, entry)
  return false
}

function remove(state: State, entry: ScheduleEntry): void {
  state.entries.delete(entry.key)
  const heap = state.tenants.get(entry.tenant)
  heap?.remove(entry)
  if (heap?.size === 0) state.tenants.delete(entry.tenant)
  if (!('anchor' in entry.schedule)) return
  const key = calendarKey(entry.tenant, entry.schedule.anchor.calendar)
  const others = state.anchored.get(key)
  others?.delete(entry)
  if (others?.size === 0) state.anchored.delete(key)
}

/** Computes the next instant and puts the entry where it belongs. */
function plan(state: State, entry: ScheduleEntry): void {
  planNext(entry, state.findAnchors(entry.tenant))
  put(state, entry)
}

function put({ tenants }: State, entry: ScheduleEntry): void {
  const heap = tenants.get(entry.tenant)
  if (entry.nextMs === Number.POSITIVE_INFINITY) {
    heap?.remove(entry)
    return
  }
  const own = heap ?? createDueHeap()
  if (!heap) tenants.set(entry.tenant, own)
  own.place(entry)
}

/**
 * An entry that is out is planned when it is put back. What lies between the mark and now stays
 * to be decided, so the plan begins at the mark.
 */
function replan(state: State, entry: ScheduleEntry): void {
  const isOut = entry.heapAt < 0 && entry.nextMs !== Number.POSITIVE_INFINITY
  if (!isOut) plan(state, entry)
}

function earliest(tenants: Map<string, DueHeap>): number {
  let first = Number.POSITIVE_INFINITY
  for (const heap of tenants.values()) first = Math.min(first, heap.peek()?.nextMs ?? first)
  return first
}

function takeDue(tenants: Map<string, DueHeap>, nowMs: number, max: number): ScheduleEntry[] {
  const taken: ScheduleEntry[] = []
  let open = [...tenants].filter(([, heap]) => (heap.peek()?.nextMs ?? Infinity) <= nowMs)
  while (open.length > 0 && taken.length < max) {
    const still: typeof open = []
    for (const turn of open) {
      const [, heap] = turn
      const entry = heap.peek()
      if (!entry || entry.nextMs > nowMs || taken.length >= max) continue
      heap.remove(entry)
      taken.push(entry)
      still.push(turn)
    }
    open = still
  }
  return taken
}
