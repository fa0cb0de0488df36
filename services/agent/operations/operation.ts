/**
 * An operation: one piece of technical work that goes on outside the visible conversation. Its
 * states and how they follow are here; nothing else changes one.
 *
 *     accepted → running → (retrying → running)* → queued_for_sync | failed
 *     queued_for_sync → proactively_notified | consumed_next_turn
 *
 * A failed one keeps its state and enters the same closing; `delivery` says how it got there.
 */
import type { Language } from '../tools/tool.ts'

export const OPERATION_STATES = [
  'accepted',
  'running',
  'retrying',
  'queued_for_sync',
  'failed',
  'proactively_notified',
  'consumed_next_turn',
] as const
export type OperationState = (typeof OPERATION_STATES)[number]

/** How a finished operation reaches the conversation: `queued` until it has. */
export type DeliveryMode = 'queued' | 'proactive' | 'next_turn'

/** What the outside answered; a failure is one of fixed words, never the outside's text. */
export type OperationOutcome = { ok: true } | { ok: false; why: FailureWord; status?: number }
export type FailureWord = 'refused' | 'unavailable' | 'timed-out' | 'tool-removed'

export interface Operation {
  id: string
  tenant: string
  agent: string
  session: string
  /** The message whose turn opened it: what one turn opens is one batch and closes once. */
  batch: string
  /** Its place among what its turn opened, from 0. */
  position: number
  callId: string
  tool: string
  language: Language
  /** What it is about, for people. */
  target: string
  item: Record<string, unknown>
  /** Sent with every attempt, the same after a crash. */
  idempotencyKey: string
  /** Proves which run opened it, when its closing is asked for. */
  handle: string
  state: OperationState
  attempts: number
  outcome: OperationOutcome | null
  delivery: DeliveryMode | null
  /** The message that took it into the conversation. */
  deliveredBy: string | null
  /** Ms since the epoch, for people. */
  acceptedAt: number
  updatedAt: number
}

/** Changes that the states allow; any other leaves the operation as it is and answers undefined. */
type Change = Operation | undefined

/** An attempt begins. One that a crash cut off begins again and counts once. */
export function started(operation: Operation, now: number): Change {
  const { state, attempts } = operation
  if (state === 'running') return { ...operation, updatedAt: now }
  if (state !== 'accepted' && state !== 'retrying') return undefined
  return { ...operation, state: 'running', attempts: attempts + 1, updatedAt: now }
}

/** The attempt failed and another will follow. */
export function willRetry(operation: Operation, now: number): Change {
  if (operation.state !== 'running') return undefined
  return { ...operation, state: 'retrying', updatedAt: now }
}

/** It is over, well or not, and waits for the closing. */
export function finished(operation: Operation, outcome: OperationOutcome, now: number): Change {
  if (!isOpen(operation)) return undefined
  const state = outcome.ok ? 'queued_for_sync' : 'failed'
  return { ...operation, state, outcome, delivery: 'queued', updatedAt: now }
}

const DELIVERED_STATE = {
  proactive: 'proactively_notified',
  next_turn: 'consumed_next_turn',
} as const

/** Enters the conversation with that message, once. */
export function delivered(
  operation: Operation,
  by: { mode: 'proactive' | 'next_turn'; messageId: string },
  now: number,
): Change {
  if (operation.delivery !== 'queued') return undefined
  const state = operation.state === 'failed' ? 'failed' : DELIVERED_STATE[by.mode]
  const { mode: delivery, messageId: deliveredBy } = by
  return { ...operation, state, delivery, deliveredBy, updatedAt: now }
}

/** Still at work. */
export function isOpen({ state }: Operation): boolean {
  return state === 'accepted' || state === 'running' || state === 'retrying'
}

/** In the order in which they were asked for. */
export function byAge(a: Operation, b: Operation): number {
  return a.acceptedAt - b.acceptedAt || a.position - b.position || (a.id < b.id ? -1 : 1)
}
