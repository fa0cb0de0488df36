/**
 * The account of one installation, kept from outside: what was accepted at the door, what the log
 * says became of it, and what executors saw. Pure; times are given.
 */
import { candidateIdOf } from '#kernel/domain/ids.ts'
import type { Decision, MailboxTransition, Message } from '#schemas/generated/records.ts'
import { COOLDOWN_MS, LANES, type Lane } from './lanes.ts'

/** An event that was sent; `acceptedAt` once any of its sends got a 2xx. */
export interface SentEvent {
  id: string
  source: string
  lane: Lane
  dedupKey?: string
  acceptedAt?: number
}

/** One claim that leased something. */
export interface ClaimSpan {
  agent: string
  sentAt: number
  answeredAt: number
  tokens: number[]
}

/** What breaks a promise: `lost` and `doubled` are I1 and I2, `wrong` is any other. */
export interface Finding {
  kind: 'lost' | 'doubled' | 'wrong'
  text: string
}

export interface Ledger {
  /** Subscription ids by name, told once. */
  subscriptions: Map<string, string>
  send(event: SentEvent): void
  accept(source: string, id: string, at: number): void
  claim(span: ClaimSpan): void
  /** An executor got the message; the first receipt counts. */
  receive(message: { id: string; subscription: string; eventIds: string[] }, at: number): void
  /** A completion that was answered with a 2xx. */
  complete(messageId: string, token: number): void
  decision(decision: Decision): void
  message(message: Message): void
  transition(transition: MailboxTransition): void
  /** Broken promises among events of one run; `lost` may heal until the installation is quiet. */
  findings(): Finding[]
  /** When each accepted event of the plain lanes was accepted and first received. */
  spans(): { acceptedAt: number; receivedAt: number }[]
  counts(): { accepted: number; completed: number }
  /** How many messages hold an event for a subscription. */
  messagesOf(subscription: string, event: string): number
}

interface Fates {
  seq: number
  fate: string
  messageId: string | null
  finals: Set<string>
}

interface Book {
  subscriptions: Map<string, string>
  events: Map<string, SentEvent>
  claims: ClaimSpan[]
  received: Map<string, number>
  completed: Map<string, Set<number>>
  fates: Map<string, Fates>
  messages: Map<string, { subscription: string; createdAt: number }>
  /** Messages that hold an event, by subscription and event. */
  holders: Map<string, Set<string>>
  settledBy: Map<string, Set<string>>
}

const WAITING = new Set(['grouped', 'held'])

/** An empty account. */
export function createLedger(): Ledger {
  const book: Book = {
    subscriptions: new Map(),
    events: new Map(),
    claims: [],
    received: new Map(),
    completed: new Map(),
    fates: new Map(),
    messages: new Map(),
    holders: new Map(),
    settledBy: new Map(),
  }
  return {
    subscriptions: book.subscriptions,
    send: event => void book.events.set(event.id, event),
    accept(_source, id, at) {
      const event = book.events.get(id)
      if (event) event.acceptedAt ??= at
    },
    claim: span => void book.claims.push(span),
    receive({ subscription, eventIds }, at) {
      for (const id of eventIds) {
        const key = `${subscription} ${id}`
        if (!book.received.has(key)) book.received.set(key, at)
      }
    },
    complete: (messageId, token) => void addTo(book.completed, messageId, token),
    decision: decision => noteDecision(book, decision),
    message: message => noteMessage(book, message),
    transition({ messageId, state, leaseId }) {
      if (state === 'done') addTo(book.settledBy, messageId, leaseId ?? '')
    },
    findings: () => findingsOf(book),
    spans: () => spansOf(book),
    counts: () => ({
      accepted: [...book.events.values()].filter(event => event.acceptedAt !== undefined).length,
      completed: book.completed.size,
    }),
    messagesOf(subscription, event) {
      const key = `${book.subscriptions.get(subscription)} ${event}`
      return book.holders.get(key)?.size ?? 0
    },
  }
}

/** Adds to the set under a key, which is made where there is none. */
export function addTo<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key)
  if (set) set.add(value)
  else map.set(key, new Set([value]))
}

function noteDecision(book: Book, decision: Decision): void {
  const { candidateId, seq, fate, messageId } = decision
  const held = book.fates.get(candidateId) ?? { seq: 0, fate, messageId, finals: new Set() }
  if (seq >= held.seq) Object.assign(held, { seq, fate, messageId })
  if (!WAITING.has(fate)) held.finals.add(`${fate} ${messageId ?? ''}`)
  book.fates.set(candidateId, held)
}

function noteMessage(book: Book, { id, subscription, events, createdAt }: Message): void {
  const name = subscription?.id ?? ''
  book.messages.set(id, { subscription: name, createdAt })
  for (const event of events) addTo(book.holders, `${name} ${event.attributes.id}`, id)
}

function findingsOf(book: Book): Finding[] {
  const found: Finding[] = []
  for (const event of book.events.values()) {
    for (const name of event.lane.subscriptions) checkEvent(book, event, name, found)
  }
  checkDedup(book, found)
  checkCooldown(book, found)
  checkCompletions(book, found)
  checkTokens(book, found)
  return found
}

const FATES_OF: Record<Lane['promised'], string[]> = {
  delivered: ['delivered'],
  grouped: ['delivered'],
  'one-per-key': ['delivered', 'duplicate'],
  spaced: ['delivered', 'cooldown'],
}

function checkEvent(book: Book, event: SentEvent, name: string, found: Finding[]): void {
  const subscription = book.subscriptions.get(name) ?? ''
  const candidate = candidateIdOf('local', subscription, event)
  const fates = book.fates.get(candidate)
  const label = `${event.id} for ${name}`
  const holders = book.holders.get(`${subscription} ${event.id}`)
  if (holders && holders.size > 1) {
    found.push({ kind: 'doubled', text: `${label} is in ${holders.size} messages` })
  }
  if (fates && fates.finals.size > 1) {
    const list = [...fates.finals].join(', ')
    found.push({ kind: 'wrong', text: `${label} has several final fates: ${list}` })
  }
  if (event.acceptedAt === undefined) return
  if (!fates) return void found.push({ kind: 'lost', text: `${label} has no fate` })
  const { fate, messageId } = fates
  if (!FATES_OF[event.lane.promised].includes(fate)) {
    found.push({ kind: 'lost', text: `${label} ended as ${fate}` })
  } else if (fate === 'delivered' && !book.completed.has(messageId ?? '')) {
    const isKnown = book.messages.has(messageId ?? '')
    const text = `${label} was delivered as ${messageId}, ${isKnown ? 'never done' : 'not there'}`
    found.push({ kind: 'lost', text })
  }
}

/** Of each key that was accepted at least once, one event is delivered. */
function checkDedup(book: Book, found: Finding[]): void {
  const subscription = book.subscriptions.get('dedup') ?? ''
  const byKey = Map.groupBy(book.events.values(), event => event.dedupKey)
  for (const [key, events] of byKey) {
    if (key === undefined) continue
    const delivered = events.filter(
      event => book.fates.get(candidateIdOf('local', subscription, event))?.fate === 'delivered',
    )
    const isAccepted = events.some(event => event.acceptedAt !== undefined)
    if (delivered.length > 1) {
      found.push({ kind: 'doubled', text: `key ${key} was delivered ${delivered.length} times` })
    }
    if (delivered.length === 0 && isAccepted) {
      found.push({ kind: 'lost', text: `key ${key} was never delivered` })
    }
  }
}

function checkCooldown(book: Book, found: Finding[]): void {
  const subscription = book.subscriptions.get('cooldown')
  const times = [...book.messages.values()]
    .filter(message => message.subscription === subscription)
    .map(({ createdAt }) => createdAt)
    .sort((a, b) => a - b)
  for (const [at, time] of times.entries()) {
    const before = times[at - 1]
    if (before === undefined || time - before >= COOLDOWN_MS) continue
    found.push({ kind: 'wrong', text: `two deliveries of the cooldown ${time - before} ms apart` })
  }
}

function checkCompletions(book: Book, found: Finding[]): void {
  for (const [id, tokens] of book.completed) {
    if (tokens.size > 1) found.push({ kind: 'doubled', text: `${id} was completed by two leases` })
  }
  for (const [id, leases] of book.settledBy) {
    if (leases.size > 1) found.push({ kind: 'doubled', text: `${id} was settled by two leases` })
  }
}

/** A claim that was sent after another one's answer has higher tokens; no token comes twice. */
function checkTokens({ claims }: Book, found: Finding[]): void {
  for (const [agent, spans] of Map.groupBy(claims, span => span.agent)) {
    const tokens = spans.flatMap(span => span.tokens)
    if (new Set(tokens).size < tokens.length) {
      found.push({ kind: 'wrong', text: `a token of ${agent} was given twice` })
    }
    const answered = spans.toSorted((a, b) => a.answeredAt - b.answeredAt)
    let next = 0
    let highest = 0
    for (const span of spans.toSorted((a, b) => a.sentAt - b.sentAt)) {
      for (
        let done = answered[next];
        done && done.answeredAt < span.sentAt;
        done = answered[next]
      ) {
        highest = Math.max(highest, ...done.tokens)
        next += 1
      }
      if (Math.min(...span.tokens) > highest) continue
      found.push({ kind: 'wrong', text: `a token of ${agent} is not above ${highest}` })
    }
  }
}

function spansOf(book: Book): { acceptedAt: number; receivedAt: number }[] {
  const plain = new Set(LANES.filter(lane => lane.promised === 'delivered'))
  return [...book.events.values()].flatMap(({ id, lane, acceptedAt }) => {
    if (acceptedAt === undefined || !plain.has(lane)) return []
    return lane.subscriptions.map(name => ({
      acceptedAt,
      receivedAt: book.received.get(`${book.subscriptions.get(name)} ${id}`) ?? Infinity,
    }))
  })
}
