/**
 * The account of observed items, kept from outside: which versions of which items a source had,
 * and what the log says became of each.
 */
import { OBSERVATION_KIND, type ObservationState } from '#kernel/domain/observation-state.ts'
import type { Decision, EventRecord, Message, TableDocument } from '#schemas/generated/records.ts'
import { addTo, type Finding } from './ledger.ts'

/** A subscription that is to hear of every item of a source, and of changes where it watches. */
export interface Watch {
  subscription: string
  connector: string
  watch: 'new' | 'changed'
}

export interface ItemLedger {
  watches: Watch[]
  /** A version of an item is there; 1 is the first one. */
  put(connector: string, item: string, version: number): void
  /** Items that a source had before anybody looked. */
  old: Map<string, number>
  event(event: EventRecord): void
  message(message: Message): void
  decision(decision: Decision): void
  cursor(document: TableDocument): void
  /** How many messages a watch has of a version of an item. */
  messagesOf(watch: Watch, item: string, version: number): number
  /** Broken promises; `lost` may heal. */
  findings(): Finding[]
  /** What is remembered of observations disagrees with what was there. */
  cursorFindings(): Finding[]
  observations(): ObservationState[]
  counts(): Record<'items' | 'events' | 'repeated' | 'messages', number>
}

interface Cursor {
  version: number
  highest: number
  state: ObservationState
}

interface Book {
  watches: Watch[]
  old: Map<string, number>
  /** Connector, item and version. */
  put: Set<string>
  events: Map<string, number>
  /** Messages by subscription, item and version. */
  messages: Map<string, Set<string>>
  fates: Map<string, Set<string>>
  cursors: Map<string, Cursor>
}

const VERSION = /^version (\d+)$/m

/** What a ticket of this version says. */
export function textOf(item: string, version: number): string {
  return `Ticket ${item}\nversion ${version}\n`
}

/** An empty account. */
export function createItemLedger(): ItemLedger {
  const book: Book = {
    ...{ watches: [], old: new Map(), put: new Set(), events: new Map() },
    ...{ messages: new Map(), fates: new Map(), cursors: new Map() },
  }
  return {
    ...{ watches: book.watches, old: book.old },
    put: (connector, item, version) => void book.put.add(`${connector} ${item} ${version}`),
    event({ attributes: { id } }) {
      book.events.set(String(id), (book.events.get(String(id)) ?? 0) + 1)
    },
    message: message => noteMessage(book, message),
    decision({ candidateId, fate }) {
      addTo(book.fates, candidateId, fate)
    },
    cursor: document => noteCursor(book, document),
    messagesOf: ({ subscription }, item, version) =>
      book.messages.get(`${subscription} ${item} ${version}`)?.size ?? 0,
    findings: () => findingsOf(book),
    cursorFindings: () => cursorFindingsOf(book),
    observations: () => [...book.cursors.values()].map(({ state }) => state),
    counts: () => ({
      items: book.put.size,
      events: book.events.size,
      repeated: [...book.events.values()].reduce((sum, times) => sum + times - 1, 0),
      messages: [...book.messages.values()].reduce((sum, ids) => sum + ids.size, 0),
    }),
  }
}

function noteMessage(book: Book, { id, subscription, events }: Message): void {
  for (const { json } of events) {
    const item = JSON.parse(json ?? '{}') as { id?: string; text?: string }
    const version = VERSION.exec(item.text ?? '')?.[1] ?? '0'
    addTo(book.messages, `${subscription?.id} ${item.id} ${version}`, id)
  }
}

function noteCursor(book: Book, { kind, id, version, deleted, doc }: TableDocument): void {
  if (kind !== OBSERVATION_KIND || deleted) return
  const highest = Math.max(version, book.cursors.get(id)?.highest ?? 0)
  book.cursors.set(id, { version, highest, state: doc as ObservationState })
}

/** The versions that a watch is to hear of, as `item version`. */
function wanted({ put }: Book, { connector, watch }: Watch): string[] {
  return [...put].flatMap(name => {
    const [from, item, version] = name.split(' ')
    return from === connector && (watch === 'changed' || version === '1')
      ? [`${item} ${version}`]
      : []
  })
}

function findingsOf(book: Book): Finding[] {
  const found: Finding[] = []
  const known = new Set<string>()
  for (const watch of book.watches) {
    for (const name of wanted(book, watch)) {
      const key = `${watch.subscription} ${name}`
      known.add(key)
      const times = book.messages.get(key)?.size ?? 0
      const text = `${watch.connector} ${name} is ${times} messages for ${watch.watch}`
      if (times === 0) found.push({ kind: 'lost', text })
      if (times > 1) found.push({ kind: 'doubled', text })
    }
  }
  for (const key of book.messages.keys()) {
    if (!known.has(key)) found.push({ kind: 'wrong', text: `${key} was not to be told` })
  }
  for (const [candidate, fates] of book.fates) {
    if (fates.size === 1 && fates.has('delivered')) continue
    found.push({ kind: 'wrong', text: `${candidate} ended as ${[...fates].join(', ')}` })
  }
  return found
}

/** The last record of each observation, which is what compaction leaves. */
function cursorFindingsOf(book: Book): Finding[] {
  return [...book.cursors].flatMap(([id, { version, highest, state }]) => {
    const { connector, emitted, seen, failures, isPositioned } = state
    const isWatching = seen.some(entry => entry.includes(':'))
    const watch: Watch = { subscription: '', connector, watch: isWatching ? 'changed' : 'new' }
    const due = wanted(book, watch).length
    const items = wanted(book, { ...watch, watch: 'new' }).length
    const all = items + (book.old.get(connector) ?? 0)
    // An item that changed before its first version was written down is counted once.
    const isCounted = isWatching ? emitted >= items && emitted <= due : emitted === due
    const is = { isCounted, seen: seen.length, version, failures, isPositioned }
    const must = { isCounted: true, seen: all, version: highest, failures: 0, isPositioned: true }
    if (JSON.stringify(is) === JSON.stringify(must)) return []
    const told = `${id} of ${connector} emitted ${emitted} of ${due}`
    const text = `${told}, and is ${JSON.stringify(is)}, not ${JSON.stringify(must)}`
    return [{ kind: 'wrong' as const, text }]
  })
}
