/** A mailbox in a decider bench: messages taken in, claimed and settled by name. */
import { defaultAgent } from '#kernel/domain/agent.ts'
import type { LeaseClaim } from '#kernel/domain/lease-handle.ts'
import type { Message } from '#schemas/generated/records.ts'
import { type ClaimInput, decideClaim } from '#services/mailbox-dispatcher/decide-claim.ts'
import { decideIntake } from '#services/mailbox-dispatcher/decide-intake.ts'
import { lineageOf } from '#services/mailbox-dispatcher/mailbox-outputs.ts'
import { type MessageDocument, queueOf } from '#services/mailbox-dispatcher/message-document.ts'
import { createDeciderBench, type DeciderBench } from './decider-bench.ts'

export const TENANT = 'local'
export const AGENT = 'triage'
/** An instant in 2026. */
export const START = Date.UTC(2026, 5, 1)
export const RULES = { zone: 'UTC' }

export function messageNamed(id: string, over: Partial<Message> = {}): Message {
  return {
    id,
    kind: 'activation',
    tenant: TENANT,
    onBehalfOf: null,
    agent: AGENT,
    session: null,
    workspace: null,
    subscription: { id: 's1', version: 1, name: 'refunds', owner: 'user:ana' },
    instruction: 'Read it.',
    events: [],
    evidence: [],
    lineage: [],
    candidateIds: [],
    groupKey: null,
    policyVersion: 0,
    createdAt: START,
    expiresAt: null,
    concurrencyMax: 0,
    input: null,
    ...over,
  }
}

export interface MailboxBench extends DeciderBench {
  take(message: Message): void
  claim(over?: Partial<ClaimInput>): MessageDocument[]
  /** Claims exactly one and answers what its handle would say. */
  claimOne(over?: Partial<ClaimInput>): LeaseClaim
}

export function createMailboxBench(agentOver: Partial<ClaimInput['agent']> = {}): MailboxBench {
  const bench = createDeciderBench(TENANT, START)
  const agent = { ...defaultAgent(TENANT, AGENT), maxConcurrentLeases: 10, ...agentOver }
  let offset = 0
  let claims = 0
  const claim = (over: Partial<ClaimInput> = {}) => {
    const due = [...bench.due(queueOf(AGENT))]
      .filter(([, at]) => at <= bench.now)
      .sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
      .map(([id]) => id)
    const max = over.max ?? 1
    claims += 1
    const leaseIds = Array.from({ length: max }, (_, at) => `lease-${claims}-${at}`)
    const rest = { isStopped: false, executor: 'worker', leaseMs: 30_000, forgotten: new Set('') }
    return bench.run(unit => decideClaim(unit, { agent, max, due, leaseIds, ...rest, ...over }))
  }
  return Object.assign(bench, {
    take(message: Message) {
      const at = offset++
      bench.run(unit => decideIntake(unit, { message, partition: 0, offset: at }))
    },
    claim,
    claimOne(over: Partial<ClaimInput> = {}) {
      const [doc] = claim(over)
      if (!doc) throw new Error('expected a message to claim')
      return leaseClaimOf(doc)
    },
  })
}

/** What the handle of a leased document says. */
export function leaseClaimOf({ id, agent, message, lease, session }: MessageDocument): LeaseClaim {
  if (!lease || !message) throw new Error(`${id} is not leased`)
  const { token, leaseId, issuedAt } = lease
  return {
    tenant: TENANT,
    agent,
    messageId: id,
    subscription: message.subscription?.id ?? null,
    token,
    leaseId,
    session,
    onBehalfOf: message.onBehalfOf,
    lineage: lineageOf(message),
    issuedAt,
  }
}
