/**
 * The account of schedules, kept from outside: which instants were due, and what the log says
 * became of each (I13). It computes instants by itself, from a first one and a distance.
 */
import type { Decision, EventRecord, Message } from '#schemas/generated/records.ts'
import type { Finding } from './ledger.ts'

/** What a subscription does with instants that nobody was there for. */
export type Rule = 'once' | 'all' | 'latest' | 'none' | 'anchor'

/** A schedule for as long as it was in force; an edit makes another one. */
export interface Holding {
  name: string
  subscription: string
  rule: Rule
  firstMs: number
  /** Distance of its instants; null where there is only the first. */
  everyMs: number | null
  jitterMs?: number
  /** It holds for instants after this. */
  sinceMs: number
  /** When the change that ended it was answered; absent while it holds. */
  endedMs?: number
}

/** A time in which no replica ran. */
export interface Outage {
  fromMs: number
  toMs: number
}

export interface ScheduleLedger {
  holdings: Holding[]
  outages: Outage[]
  event(event: EventRecord): void
  message(message: Message): void
  decision(decision: Decision): void
  /** Broken promises about everything due up to then; `lost` may heal. */
  findings(horizonMs: number): Finding[]
  counts(): Record<'due' | 'fired' | 'late' | 'missed' | 'void' | 'repeated', number>
}

interface Fired {
  lateMs: number
  isLate: boolean
  recordedMs: number
}

interface Gap {
  fromMs: number
  toMs: number
  count: number
  reason: string
}

interface Book {
  holdings: Holding[]
  outages: Outage[]
  eventIds: Set<string>
  repeated: number
  /** By subscription and instant. */
  fired: Map<string, Map<string, Fired>>
  messages: Map<string, Map<string, number>>
  gaps: Map<string, Map<string, Gap>>
  fates: Map<string, Set<string>>
  horizonMs: number
}

const LATE_MS = 1000
/** Why instants of a rule may be missed while somebody is there within its grace. */
const MAY_MISS: Record<Rule, string[]> = {
  once: [],
  all: [],
  latest: ['later-one-fired', 'too-late'],
  none: ['not-wanted-late', 'later-one-fired'],
  anchor: ['meeting-begun', 'later-one-fired', 'too-late'],
}

/** An empty account. */
export function createScheduleLedger(): ScheduleLedger {
  const book: Book = {
    ...{ holdings: [], outages: [], eventIds: new Set(), repeated: 0, horizonMs: 0 },
    ...{ fired: new Map(), messages: new Map(), gaps: new Map(), fates: new Map() },
  }
  return {
    holdings: book.holdings,
    outages: book.outages,
    event: event => noteEvent(book, event),
    message: message => noteMessage(book, message),
    decision({ candidateId, fate }) {
      under(book.fates, candidateId, () => new Set()).add(fate)
    },
    findings: horizonMs => {
      book.horizonMs = horizonMs
      return findingsOf(book)
    },
    counts: () => countsOf(book),
  }
}

function under<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

const placeOf = (subscription: unknown, atMs: number) => `${subscription} ${atMs}`

function noteEvent(book: Book, { attributes, json }: EventRecord): void {
  const { id, type, subject, time, recordedtime } = attributes
  if (book.eventIds.has(String(id))) {
    book.repeated += 1
    return
  }
  book.eventIds.add(String(id))
  const data = JSON.parse(json ?? '{}') as Record<string, unknown>
  if (type === 'time.missed') {
    const { from, to, count, reason } = data
    const span = { fromMs: Date.parse(String(from)), toMs: Date.parse(String(to)) }
    const gap = { ...span, count: Number(count), reason: String(reason) }
    under(book.gaps, String(subject), () => new Map()).set(String(id), gap)
    return
  }
  const atMs = Date.parse(String(time))
  const recordedMs = Date.parse(String(recordedtime))
  const fired = { lateMs: Number(data.lateMs), isLate: data.late === true, recordedMs }
  under(book.fired, placeOf(subject, atMs), () => new Map()).set(String(id), fired)
}

function noteMessage(book: Book, { id, subscription, events, createdAt }: Message): void {
  for (const { attributes } of events) {
    const atMs = Date.parse(String(attributes.time))
    const place = placeOf(subscription?.id, atMs)
    under(book.messages, place, () => new Map()).set(id, createdAt)
  }
}

/** Instants of a holding up to a moment. */
function instantsOf(holding: Holding, toMs: number): number[] {
  const { firstMs, everyMs, sinceMs } = holding
  if (everyMs === null) return firstMs > sinceMs && firstMs <= toMs ? [firstMs] : []
  const instants: number[] = []
  const steps = Math.max(0, Math.floor((sinceMs - firstMs) / everyMs) + 1)
  for (let atMs = firstMs + steps * everyMs; atMs <= toMs; atMs += everyMs) instants.push(atMs)
  return instants
}

function findingsOf(book: Book): Finding[] {
  const found: Finding[] = []
  for (const holding of book.holdings) {
    for (const atMs of instantsOf(holding, book.horizonMs)) {
      if (holding.endedMs === undefined) checkDue(book, holding, atMs, found)
      else checkEnded(book, holding, atMs, found)
    }
    if (holding.endedMs === undefined) checkGaps(book, holding, found)
  }
  checkStrangers(book, found)
  for (const [place, ids] of book.messages) {
    if (ids.size > 1) found.push({ kind: 'doubled', text: `${place} is ${ids.size} messages` })
  }
  for (const [candidate, fates] of book.fates) {
    const text = `${candidate} has the fates ${[...fates].join(', ')}`
    if (fates.size > 1) found.push({ kind: 'wrong', text })
  }
  return found
}

function labelOf({ name, subscription }: Holding, atMs: number): string {
  return `${name} (${subscription}) at ${new Date(atMs).toISOString()}`
}

/** An instant of a schedule that still holds: one message, or inside one gap. */
function checkDue(book: Book, holding: Holding, atMs: number, found: Finding[]): void {
  const { subscription, rule } = holding
  const label = labelOf(holding, atMs)
  const place = placeOf(subscription, atMs)
  const fired = [...(book.fired.get(place)?.values() ?? [])]
  const gaps = [...(book.gaps.get(subscription)?.values() ?? [])].filter(
    ({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs,
  )
  const ends = (book.messages.has(place) ? 1 : 0) + gaps.length
  if (ends === 0) {
    const text = `${label} was ${fired.length > 0 ? 'fired and not delivered' : 'not decided'}`
    found.push({ kind: 'lost', text })
  }
  if (fired.length > 1) {
    found.push({ kind: 'wrong', text: `${label} has ${fired.length} identities` })
  }
  if (ends > 1) found.push({ kind: 'doubled', text: `${label} was decided ${ends} times` })
  for (const { reason } of gaps) {
    if (MAY_MISS[rule].includes(reason)) continue
    found.push({ kind: 'wrong', text: `${label} was missed: ${reason}` })
  }
  for (const each of fired) checkLateness(book, holding, { ...each, atMs }, found)
}

function checkLateness(
  book: Book,
  holding: Holding,
  { atMs, lateMs, isLate, recordedMs }: Fired & { atMs: number },
  found: Finding[],
): void {
  const { jitterMs = 0 } = holding
  const label = `${labelOf(holding, atMs)}, lateMs ${lateMs}, late ${isLate}`
  const sinceMs = recordedMs - atMs
  const isTrue = lateMs <= sinceMs && lateMs >= sinceMs - jitterMs && lateMs >= 0
  if (!isTrue) found.push({ kind: 'wrong', text: `${label}: fired ${sinceMs} ms after it` })
  if (isLate !== lateMs > LATE_MS) found.push({ kind: 'wrong', text: `${label}: not so marked` })
  const leastMs = Math.max(
    0,
    ...book.outages
      .filter(({ fromMs, toMs }) => fromMs < atMs && atMs < toMs)
      .map(({ toMs }) => toMs - atMs - jitterMs),
  )
  if (lateMs >= leastMs) return
  found.push({ kind: 'wrong', text: `${label}: nobody was there for ${leastMs} ms after it` })
}

/** An instant of a schedule that was changed: nothing of it after the answer. */
function checkEnded(book: Book, holding: Holding, atMs: number, found: Finding[]): void {
  const { endedMs = 0, subscription, rule } = holding
  const place = placeOf(subscription, atMs)
  const events = book.fired.get(place)?.values() ?? []
  // A meeting is no part of its subscription: what was fired before it moved may be on its way.
  const times =
    rule === 'anchor'
      ? [...events].map(({ recordedMs }) => recordedMs)
      : [...(book.messages.get(place)?.values() ?? [])]
  for (const ms of times) {
    if (ms <= endedMs) continue
    const text = `${labelOf(holding, atMs)} came ${ms - endedMs} ms after its change`
    found.push({ kind: 'wrong', text })
  }
}

/** What a gap counts are the instants in it. */
function checkGaps(book: Book, holding: Holding, found: Finding[]): void {
  for (const { fromMs, toMs, count } of book.gaps.get(holding.subscription)?.values() ?? []) {
    if (fromMs <= holding.sinceMs) continue
    const due = instantsOf(holding, toMs).filter(atMs => atMs >= fromMs).length
    if (due === count) continue
    found.push({
      kind: 'wrong',
      text: `${labelOf(holding, fromMs)}: ${due} were due, not ${count}`,
    })
  }
}

/** Nothing is delivered for an instant that no schedule had. */
function checkStrangers(book: Book, found: Finding[]): void {
  const farMs = book.horizonMs + 60_000
  const known = new Set(
    book.holdings.flatMap(holding =>
      instantsOf(holding, farMs).map(atMs => placeOf(holding.subscription, atMs)),
    ),
  )
  for (const place of book.messages.keys()) {
    if (!known.has(place)) found.push({ kind: 'wrong', text: `${place} was never due` })
  }
}

function countsOf(book: Book): ReturnType<ScheduleLedger['counts']> {
  const live = book.holdings.filter(({ endedMs }) => endedMs === undefined)
  const ended = book.holdings.filter(({ endedMs }) => endedMs !== undefined)
  const fired = [...book.fired.values()].flatMap(ids => [...ids.values()])
  const gaps = [...book.gaps.values()].flatMap(ids => [...ids.values()])
  const unfired = (holding: Holding) =>
    instantsOf(holding, book.horizonMs).filter(
      atMs => !book.messages.has(placeOf(holding.subscription, atMs)),
    )
  return {
    due: live.reduce((sum, holding) => sum + instantsOf(holding, book.horizonMs).length, 0),
    fired: fired.length,
    late: fired.filter(({ isLate }) => isLate).length,
    missed: gaps.reduce((sum, { count }) => sum + count, 0),
    void: ended.reduce((sum, holding) => sum + unfired(holding).length, 0),
    repeated: book.repeated,
  }
}
