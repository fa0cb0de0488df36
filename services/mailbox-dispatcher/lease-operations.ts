/** What the holder of a lease may do: every call proves the lease with its handle. */
import type { LeaseClaim } from '#kernel/domain/lease-handle.ts'
import { instantOf } from '#kernel/domain/message-view.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { ChargeRules } from './charge-run.ts'
import { decideAsk } from './decide-ask.ts'
import { type Authorization, decideAuthorize } from './decide-authorize.ts'
import { decideComplete, type Settlement } from './decide-complete.ts'
import { decideFail } from './decide-fail.ts'
import { decideRenew } from './decide-renew.ts'
import type { Effect } from './effect.ts'
import { agentOf, isStopped, type MailboxWorld } from './mailbox-world.ts'
import { messageKey } from './message-document.ts'
import type { OperationRunner } from './operation-runner.ts'
import type { Performance, Performer } from './performer.ts'
import type { RunError, RunResult } from './run-result.ts'

const CONTINUITY_MS = 3_600_000

export interface Renewed {
  lease: { token: number; handle: string; expiresAt: string }
}

/** What every call sends. */
export interface Proof {
  handle: string
  /** Set when an agent calls: the only one whose handles count. */
  agent?: string
}

export interface Question {
  question: string
  options?: string[]
  /** The effect that a yes shall allow. */
  effect?: { tool: string; target?: string }
  result?: RunResult
}

export interface Failure {
  error: RunError
  retryable: boolean
  result?: RunResult
}

/** Calls reject `stale-lease`, and `bad-handle` for one that was not issued for the message. */
export interface LeaseOperations {
  renew(tenant: string, id: string, body: Proof & { leaseMs: number }): Promise<Renewed>
  complete(tenant: string, id: string, body: Proof & { result: RunResult }): Promise<Settlement>
  fail(tenant: string, id: string, body: Proof & Failure): Promise<Settlement>
  authorize(tenant: string, id: string, body: Proof & { effect: Effect }): Promise<Authorization>
  ask(tenant: string, id: string, body: Proof & Question): Promise<{ approvalId: string }>
}

export function createLeaseOperations(
  world: MailboxWorld,
  { performer, runner }: { performer: Performer; runner: OperationRunner },
): LeaseOperations {
  const { directory, signer } = world
  const underLease = <T>(claim: LeaseClaim, decide: Performance<T>['decide']) =>
    performer.perform({
      tenant: claim.tenant,
      agent: claim.agent,
      lane: claim.agent,
      documents: [messageKey(claim.messageId)],
      decide,
    })
  /** The first answer may have been lost before its outputs were in the log. */
  const afterRepeat = async <T extends { isRepeat: boolean }>(tenant: string, answer: T) => {
    if (answer.isRepeat) await runner.drain(tenant)
    return answer
  }
  const rulesOf = (tenant: string): ChargeRules => ({ zone: directory.policy(tenant).zone })
  return {
    async renew(tenant, id, { leaseMs, ...proof }) {
      const claim = claimOf(signer, { tenant, id, proof })
      const lease = await underLease(claim, unit => decideRenew(unit, { claim, leaseMs }))
      return {
        lease: { token: lease.token, handle: proof.handle, expiresAt: instantOf(lease.expiresAt) },
      }
    },
    async complete(tenant, id, { result, ...proof }) {
      const claim = claimOf(signer, { tenant, id, proof })
      const rules = rulesOf(tenant)
      const answer = await underLease(claim, unit => decideComplete(unit, { claim, result, rules }))
      return afterRepeat(tenant, answer)
    },
    async fail(tenant, id, { error, retryable, result, ...proof }) {
      const claim = claimOf(signer, { tenant, id, proof })
      const agent = agentOf(directory, tenant, claim.agent)
      const input = { claim, error, retryable, result, agent, rules: rulesOf(tenant) }
      return afterRepeat(tenant, await underLease(claim, unit => decideFail(unit, input)))
    },
    async authorize(tenant, id, { effect, ...proof }) {
      const claim = claimOf(signer, { tenant, id, proof })
      await world.barrier?.()
      return underLease(claim, unit =>
        decideAuthorize(unit, { claim, effect, facts: factsOf(world, claim) }),
      )
    },
    async ask(tenant, id, { handle, agent, ...question }) {
      const claim = claimOf(signer, { tenant, id, proof: { handle, agent } })
      const input = { claim, ...question, rules: rulesOf(tenant) }
      const answer = await underLease(claim, unit => decideAsk(unit, input))
      await afterRepeat(tenant, answer)
      return { approvalId: answer.approvalId }
    },
  }
}

/** @throws AmbitError `bad-handle` for one never issued, or issued for another message. */
function claimOf(
  signer: MailboxWorld['signer'],
  { tenant, id, proof }: { tenant: string; id: string; proof: Proof },
): LeaseClaim {
  const claim = signer.verify(proof.handle)
  if (claim?.tenant !== tenant || claim.messageId !== id) {
    throw new AmbitError('bad-handle', `Expected the handle that a claim of ${id} answered.`)
  }
  if (proof.agent === undefined || proof.agent === claim.agent) return claim
  throw new AmbitError('bad-handle', `Expected a handle of ${proof.agent}, got another agent's.`)
}

function factsOf(world: MailboxWorld, claim: LeaseClaim) {
  const { directory, heartbeatAgeMs, continuityMs = CONTINUITY_MS } = world
  const { tenant, agent, subscription } = claim
  return {
    policy: directory.policy(tenant),
    subscription: subscription === null ? undefined : directory.subscription(tenant, subscription),
    isStopped: isStopped(directory, tenant, agent),
    heartbeatAgeMs: heartbeatAgeMs?.() ?? 0,
    continuityMs,
  }
}
