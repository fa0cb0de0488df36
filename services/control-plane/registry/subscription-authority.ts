/**
 * Whose subscription it is, and what a caller may say about others. Authority comes from the
 * credential and from the lease that it proved, never from a body.
 */
import type { Principal } from '#kernel/domain/principal.ts'
import {
  type Origin,
  principalName,
  type Subscription,
  type SubscriptionInput,
} from '#kernel/domain/subscription.ts'
import { type ChangeRequest, type Refusal, refuse } from './change-request.ts'

/** Who asked: the run under whose lease an agent asks is part of it. */
export function originOf({ kind, id, under }: Principal): Origin {
  const lease = under && {
    messageId: under.messageId,
    ...(under.onBehalfOf === null ? {} : { onBehalfOf: under.onBehalfOf }),
  }
  return { kind: kind === 'agent' ? 'agent' : 'person', id, ...lease }
}

/** Who is told when nobody else is named: the person behind the run, else whoever asks. */
export function ownerOf(by: Principal): string {
  return by.under?.onBehalfOf ?? principalName(by)
}

/** Administrators, operators and the system act for everybody. */
function isTrusted({ kind, roles }: Principal): boolean {
  return kind === 'system' || roles.includes('admin') || roles.includes('operator')
}

/**
 * Refuses a change of somebody else's subscription: agents change what they asked for, people
 * what they own or asked for. Approvers decide approvals of all.
 */
export function notYours(
  { owner, origin }: Subscription,
  { by, action }: ChangeRequest,
): Refusal | undefined {
  const isApproval = action === 'approve' || action === 'reject'
  if (isTrusted(by) || (isApproval && by.roles.includes('approver'))) return undefined
  const kind = by.kind === 'agent' ? 'agent' : 'person'
  const isOrigin = origin.kind === kind && origin.id === by.id
  if (isOrigin || (kind === 'person' && owner === principalName(by))) return undefined
  return refuse(
    'forbidden',
    `The subscription belongs to ${owner}; its owner or an operator may change it.`,
  )
}

/**
 * Refuses an owner or a user scope that the caller does not stand for. What an edit leaves as it
 * was says nothing new.
 */
export function forged(
  { onBehalfOf }: SubscriptionInput,
  owner: string,
  by: Principal,
  current?: Pick<Subscription, 'owner' | 'onBehalfOf'>,
): Refusal | undefined {
  if (isTrusted(by)) return undefined
  const own = [principalName(by), ...(by.under?.onBehalfOf ? [by.under.onBehalfOf] : [])]
  const scope = onBehalfOf ?? null
  if (scope !== null && scope !== current?.onBehalfOf && !own.includes(scope)) {
    return refuse('forbidden', '/onBehalfOf: expected yourself, got somebody else.', {
      pointer: '/onBehalfOf',
      expected: own.join(' or '),
      actual: scope,
    })
  }
  if (by.kind !== 'agent' || owner === current?.owner || own.includes(owner)) return undefined
  return refuse('forbidden', '/owner: expected the agent or the person it acts for.', {
    pointer: '/owner',
    expected: own.join(' or '),
    actual: owner,
  })
}
