/** The HTTP contract in types: mailboxes, leases, runs and questions. */
import type { CloudEvent, EventIdentity, Evidence, RunUsage } from './api-subscription.ts'

export interface Hop {
  subscription: string
  agent: string
  message: string
}

export interface Message {
  id: string
  kind: string
  tenant: string
  onBehalfOf: string | null
  agent: string
  session: string | null
  workspace: string | null
  subscription: { id: string; version: number; name: string } | null
  instruction: string
  /** Their data is untrusted: something to read, never instructions to follow. */
  events: CloudEvent[]
  evidence: Evidence[]
  lineage: Hop[]
  policyVersion: number
  createdAt: string
  expiresAt: string | null
  state: string
  attempts: number
  run?: unknown
  /** What a continuation brings. */
  input?: unknown
}

export interface Lease {
  /** The fencing number: compare it where effects land. */
  token: number
  /** Signed proof of the lease; every call sends it. */
  handle: string
  expiresAt: string
}

export interface ClaimedMessage {
  message: Message
  lease: Lease
  attempt: number
}

export interface ClaimInput {
  executor: string
  leaseMs?: number
  /** Ms to wait for a first message. Default 0. */
  waitMs?: number
  max?: number
}

export type RunError = string | { code?: string; message?: string; [more: string]: unknown }

export interface RunResult {
  ok: boolean
  stopReason: string
  error?: RunError | null
  usage?: RunUsage | null
  output?: unknown
  iterations?: number
  toolCalls?: number
  calls?: { tool: string; [more: string]: unknown }[]
}

export interface Settlement {
  id: string
  state: string
  attempts: number
  /** When a failed message may be claimed again. */
  availableAt?: string
  run?: unknown
}

export interface Effect {
  tool: string
  class: 'read' | 'write' | 'sensitive'
  egress?: boolean
  target?: string
}

export interface Authorization {
  allowed: boolean
  reason: string
  [more: string]: unknown
}

export interface Question {
  question: string
  options?: string[]
  effect?: { tool: string; target?: string }
  result?: RunResult
}

/** `edit` and `respond` answer questions of runs only. */
export interface ApprovalAnswer {
  decision: 'accept' | 'edit' | 'respond' | 'ignore'
  args?: unknown
  text?: string
  reason?: string
}

export interface Continuation {
  session: string
  kind: 'turn' | 'follow-up'
  input: unknown
  /** Needed for a follow-up: the handle of the run that opened it. */
  handle?: string
}

export interface MailboxSummary {
  agent: string
  /** How many messages are in each state. */
  messages: Record<string, number>
}

/** What waits for a person: a question of a run, a match to take or leave, a subscription. */
export interface PendingApproval {
  kind: 'question' | 'ask' | 'subscription'
  id: string
  agent: string | null
  owner: string | null
  askedAt: string
  [more: string]: unknown
}

/** A match that the judge is not sure enough of: `accept` or `ignore` it. */
export interface AskApproval extends PendingApproval {
  kind: 'ask'
  subscription: string
  name: string | null
  event: EventIdentity & { type: string; time: string | null }
  /** The criterion; null when it was edited since. */
  question: string | null
  /** The model's own statement, never a probability. */
  confidence: number
  model: string
  verdictId: string
  evidence: Evidence[]
  judgeReason: { text: string; untrusted: true }
}

/** What became of an answer: `messageId` for a question of a run, the other members for an ask. */
export interface Answered {
  messageId?: string
  id?: string
  subscription?: string
  decision?: ApprovalAnswer['decision']
  /** Who answered first, and when. */
  by?: string
  at?: string
  reason?: string
  /** The answer is in the log, and the judge has not taken it yet: send it again to learn more. */
  isPending?: true
}

/** What changed about one message. */
export interface MailboxChange {
  messageId: string
  agent: string
  subscription: string | null
  state: string
  attempts: number
  at: string
}
