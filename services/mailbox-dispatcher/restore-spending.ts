/** Budgets after a loss of the store: what runs and continuations have cost, counted again (I8). */
import {
  type BudgetPayer,
  type BudgetWhat,
  budgetCounters,
  moneyMicros,
} from '#kernel/domain/budget-counters.ts'
import { dayOf } from '#kernel/domain/period.ts'
import type { Restored } from '#kernel/host/step.ts'
import type { MailboxTransition, Message } from '#schemas/generated/records.ts'
import { payerOf } from './charge-run.ts'
import type { Run } from './run-result.ts'

interface Spent {
  at: number
  tokens: number
  micros: number
}

/** What a rebuild remembers between the transitions and the messages they belong to. */
export interface SpendingMemory {
  /** By message, then by attempt: an attempt is paid for once. */
  runs: Map<string, Map<number, Spent>>
  counted: Set<string>
}

export function blankSpending(): SpendingMemory {
  return { runs: new Map(), counted: new Set() }
}

/** Remembers what the attempt cost that this transition ends. */
export function noteRun({ runs }: SpendingMemory, transition: MailboxTransition): void {
  const { usage, attempt } = (transition.run ?? {}) as Partial<Run>
  if (!usage || attempt === undefined) return
  const attempts = runs.get(transition.messageId) ?? new Map<number, Spent>()
  runs.set(transition.messageId, attempts)
  const tokens = (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  attempts.set(attempt, { at: transition.at, tokens, micros: moneyMicros(usage.cost ?? '0') })
}

/** Charges everything of one message to its payer, whose name only the message knows. */
export function restoreSpending(
  into: Restored,
  memory: SpendingMemory,
  { message, zone }: { message: Message; zone: string },
): void {
  if (memory.counted.has(message.id)) return
  memory.counted.add(message.id)
  const payer = payerOf(message)
  const add = (what: BudgetWhat, at: number, amount: number) =>
    addTo(into, payer, { what, day: dayOf(at, zone), amount })
  if (isPaidContinuation(message)) add('activations', message.createdAt, 1)
  for (const { at, tokens, micros } of memory.runs.get(message.id)?.values() ?? []) {
    add('tokens', at, tokens)
    add('money', at, micros)
  }
  memory.runs.delete(message.id)
}

/** Turns and follow-ups are charged when they are made; an answer belongs to its question. */
function isPaidContinuation({ kind, input }: Message): boolean {
  return kind === 'continuation' && (input as { kind?: unknown } | null)?.kind !== 'answer'
}

function addTo(
  { counters }: Restored,
  payer: BudgetPayer,
  { what, day, amount }: { what: BudgetWhat; day: string; amount: number },
): void {
  if (amount === 0) return
  for (const { counter, ttlMs } of budgetCounters(payer, what, day)) {
    counters.set(counter, { amount: (counters.get(counter)?.amount ?? 0) + amount, ttlMs })
  }
}
