/**
 * The account of judging, kept from outside: what was asked of the model and when, what was
 * charged for it, and what became of each event.
 */
import { budgetCounters, moneyMicros } from '#kernel/domain/budget-counters.ts'
import { candidateIdOf } from '#kernel/domain/ids.ts'
import type { Decision, Usage } from '#schemas/generated/records.ts'
import { addTo, type Finding } from './ledger.ts'

/** An event that was accepted, and the fate that an honest judge gives it. */
export interface Judged {
  subscription: string
  source: string
  id: string
  fate: 'delivered' | 'rejected'
}

/** One request to the model. */
export interface ModelCall {
  items: string[]
  startedMs: number
  /** Absent until the server has answered, whether anybody was there or not. */
  answeredMs?: number
}

export interface JudgeLedger {
  /** By id, which is also how items name themselves. */
  events: Map<string, Judged>
  calls: ModelCall[]
  /** When processes were killed. */
  breaks: number[]
  usage(usage: Usage): void
  decision(decision: Decision): void
  /** Every call was answered, and so long ago that its settlement is durable. */
  isSettled(nowMs: number): boolean
  /** Broken promises; `lost` may heal. */
  findings(): Finding[]
  /** What budgets must hold, by counter, for what was charged. */
  charged(): Map<string, number>
  /** Attempts at candidates that nobody was charged for, as reservations name them. */
  uncharged(): string[]
  /** Tokens charged, by subscription. */
  tokens(): Map<string, number>
  counts(): Record<'judged' | 'calls' | 'again' | 'allowed' | 'charges', number>
}

interface Book {
  events: Map<string, Judged>
  calls: ModelCall[]
  breaks: number[]
  /** By candidate, stage and attempt. */
  charges: Map<string, Usage>
  /** By candidate. */
  attempts: Map<string, number[]>
  fates: Map<string, Set<string>>
  wrong: Finding[]
}

/** Tokens that the server counts for each call. */
export const TOKENS = { inputTokens: 200, outputTokens: 40 } as const
/** From an answer until its settlement is durable, at most, on a busy machine. */
const SETTLE_MS = 1000

/** An empty account. */
export function createJudgeLedger(): JudgeLedger {
  const book: Book = {
    ...{ events: new Map(), calls: [], breaks: [], charges: new Map(), attempts: new Map() },
    ...{ fates: new Map(), wrong: [] },
  }
  return {
    ...{ events: book.events, calls: book.calls, breaks: book.breaks },
    usage: usage => noteUsage(book, usage),
    decision({ candidateId, fate }) {
      addTo(book.fates, candidateId, fate)
    },
    isSettled: nowMs => openAt(book, nowMs).length === 0,
    findings: () => findingsOf(book),
    charged: () => chargedOf(book),
    uncharged: () =>
      [...book.attempts].flatMap(([candidate, attempts]) => {
        const all = Array.from({ length: Math.max(...attempts) + 1 }, (_, at) => at + 1)
        return all.filter(attempt => !attempts.includes(attempt)).map(n => `${candidate}/${n}`)
      }),
    tokens: () => tokensOf(book),
    counts: () => ({
      judged: callsByItem(book).size,
      calls: book.calls.length,
      again: againOf(book),
      allowed: new Set(book.breaks.flatMap(at => openAt(book, at).flatMap(({ items }) => items)))
        .size,
      charges: book.charges.size,
    }),
  }
}

function noteUsage(book: Book, usage: Usage): void {
  const { subject, stage, attempt } = usage
  if (stage !== 'judge') return
  const key = `${subject}/${stage}/${attempt}`
  const known = book.charges.get(key)
  if (known && JSON.stringify(known) !== JSON.stringify(usage)) {
    book.wrong.push({ kind: 'doubled', text: `${key} was charged twice, differently` })
  }
  if (known) return
  book.charges.set(key, usage)
  book.attempts.set(subject, [...(book.attempts.get(subject) ?? []), attempt])
}

function callsByItem({ calls }: Book): Map<string, ModelCall[]> {
  const found = new Map<string, ModelCall[]>()
  for (const call of calls) {
    for (const item of call.items) found.set(item, [...(found.get(item) ?? []), call])
  }
  return found
}

/** Judgements beyond the first of each item. */
function againOf(book: Book): number {
  const items = [...callsByItem(book).values()]
  return items.reduce((sum, calls) => sum + calls.length - 1, 0)
}

/** Calls whose end nobody may have written down at that moment. */
function openAt({ calls }: Book, at: number): ModelCall[] {
  return calls.filter(
    ({ startedMs, answeredMs = Number.POSITIVE_INFINITY }) =>
      startedMs <= at && at <= answeredMs + SETTLE_MS,
  )
}

function findingsOf(book: Book): Finding[] {
  const found: Finding[] = [...book.wrong]
  const asked = callsByItem(book)
  for (const [id, event] of book.events) {
    const candidate = candidateIdOf('local', event.subscription, event)
    checkFate(book, candidate, event, found)
    const charges = book.attempts.get(candidate)?.length ?? 0
    if (charges === 0) found.push({ kind: 'lost', text: `${id} was not charged` })
    if (charges > 1) found.push({ kind: 'doubled', text: `${id} was charged ${charges} times` })
    checkCalls(book, id, asked.get(id) ?? [], found)
  }
  checkSums(book, found)
  return found
}

function checkFate(book: Book, candidate: string, { id, fate }: Judged, found: Finding[]): void {
  const fates = [...(book.fates.get(candidate) ?? [])]
  if (fates.length === 0) found.push({ kind: 'lost', text: `${id} has no fate` })
  else if (fates.length > 1 || fates[0] !== fate) {
    found.push({ kind: 'wrong', text: `${id} ended as ${fates.join(', ')}, not ${fate}` })
  }
}

/** Judged again only where the call before was open when its process was lost. */
function checkCalls(book: Book, id: string, calls: ModelCall[], found: Finding[]): void {
  for (const [at, call] of calls.entries()) {
    const next = calls[at + 1]
    if (!next) continue
    const { startedMs, answeredMs = 0 } = call
    const isExcused = book.breaks.some(
      ms => ms <= next.startedMs && openAt(book, ms).includes(call),
    )
    if (isExcused) continue
    const times = `asked at ${startedMs}, answered after ${answeredMs - startedMs} ms`
    const text = `${id}: ${times}, and asked again ${next.startedMs - startedMs} ms later`
    found.push({ kind: 'doubled', text })
  }
}

/** Each call that was settled is charged in full, and calls that were not are those of breaks. */
function checkSums(book: Book, found: Finding[]): void {
  const { calls, charges, breaks } = book
  const sum = (of: (usage: Usage) => number) =>
    charges.values().reduce((all, usage) => all + of(usage), 0)
  const settled = sum(usage => usage.calls)
  const is = [sum(usage => usage.inputTokens), sum(usage => usage.outputTokens)]
  const must = [settled * TOKENS.inputTokens, settled * TOKENS.outputTokens]
  if (is.join() !== must.join()) {
    found.push({ kind: 'wrong', text: `${settled} calls cost ${must}, charged were ${is}` })
  }
  const excused = new Set(breaks.flatMap(at => openAt(book, at))).size
  if (settled > calls.length || settled < calls.length - excused) {
    const text = `${settled} of ${calls.length} calls were charged, ${excused} may be missing`
    found.push({ kind: 'wrong', text })
  }
}

function chargedOf({ charges }: Book): Map<string, number> {
  const found = new Map<string, number>()
  for (const usage of charges.values()) {
    const tokens = usage.inputTokens + usage.outputTokens
    for (const [what, amount] of [
      ['tokens', tokens],
      ['money', moneyMicros(usage.cost)],
    ] as const) {
      for (const { counter } of budgetCounters(usage, what, usage.day)) {
        found.set(counter, (found.get(counter) ?? 0) + amount)
      }
    }
  }
  return found
}

function tokensOf({ charges }: Book): Map<string, number> {
  const found = new Map<string, number>()
  for (const { subscription, inputTokens, outputTokens } of charges.values()) {
    found.set(subscription, (found.get(subscription) ?? 0) + inputTokens + outputTokens)
  }
  return found
}
