/** How people and executors see a message (docs/api.md, "Mailboxes"). */
import type { Hop, Message } from '#schemas/generated/records.ts'
import type { CloudEvent } from './event.ts'
import { toCloudEvent } from './event-record.ts'

/** What the mailbox adds to the message that was appended. */
export interface MessageStatus {
  state: string
  /** Attempts begun; 0 before the first lease. */
  attempts: number
  /** How the last attempt ended. */
  run?: unknown
}

/** A message as JSON; instants are RFC 3339 in UTC. */
export interface MessageView {
  id: string
  kind: string
  tenant: string
  onBehalfOf: string | null
  agent: string
  session: string | null
  workspace: string | null
  subscription: { id: string; version: number; name: string } | null
  instruction: string
  /** Structured CloudEvents. Their data is untrusted; `source` says where it came from. */
  events: CloudEvent[]
  /** Quotes from untrusted content: data to read, never instructions to follow. */
  evidence: { quote: string; source: string; pointer: string; untrusted: true }[]
  lineage: Hop[]
  policyVersion: number
  createdAt: string
  expiresAt: string | null
  state: string
  attempts: number
  run?: unknown
  /** What a continuation brings; absent on activations. */
  input?: unknown
}

/** The JSON form of a message; bodies carried by reference must have been put back before. */
export function messageView(message: Message, status: MessageStatus): MessageView {
  const { subscription, input } = message
  return {
    id: message.id,
    kind: message.kind,
    tenant: message.tenant,
    onBehalfOf: message.onBehalfOf,
    agent: message.agent,
    session: message.session,
    workspace: message.workspace,
    subscription: subscription && {
      id: subscription.id,
      version: subscription.version,
      name: subscription.name,
    },
    instruction: message.instruction,
    events: message.events.map(toCloudEvent),
    evidence: message.evidence.map(({ quote, source, pointer }) => ({
      quote,
      source,
      pointer,
      untrusted: true,
    })),
    lineage: message.lineage,
    policyVersion: message.policyVersion,
    createdAt: instantOf(message.createdAt),
    expiresAt: message.expiresAt === null ? null : instantOf(message.expiresAt),
    state: status.state,
    attempts: status.attempts,
    ...(status.run === undefined || status.run === null ? {} : { run: shownRun(status.run) }),
    ...(input === null || input === undefined ? {} : { input }),
  }
}

/** A run that asked carries its question for rebuilding; people read it at `/v1/approvals`. */
export function shownRun(run: unknown): unknown {
  if (typeof run !== 'object' || run === null || !('approval' in run)) return run
  const { approval: _approval, ...shown } = run
  return shown
}

/** RFC 3339 in UTC with `Z`, milliseconds kept. */
export function instantOf(ms: number): string {
  return new Date(ms).toISOString()
}
