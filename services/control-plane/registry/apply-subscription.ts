/**
 * The lifecycle of a subscription: (current, change, surroundings) → next, or a refusal. Pure.
 * Approval and operation move independently; every change raises `version` by one.
 */
import { resolveLimits } from '#kernel/domain/limits.ts'
import { mergePatch } from '#kernel/domain/merge-patch.ts'
import { parseWith } from '#kernel/domain/parse-with.ts'
import { isEntitled } from '#kernel/domain/policy.ts'
import {
  principalName,
  type Subscription,
  type SubscriptionInput,
  type SubscriptionState,
  subscriptionSchema,
} from '#kernel/domain/subscription.ts'
import type {
  Applied,
  ChangeContext,
  ChangeRequest,
  Refusal,
  RegistryObject,
} from './change-request.ts'
import { isRefusal, refusable, refuse, versionMismatch } from './change-request.ts'
import { observeRefusal } from './observe-refusal.ts'
import { restarted, scheduledPart, scheduleRefusal } from './schedule-part.ts'
import { forged, notYours, originOf, ownerOf } from './subscription-authority.ts'

type Current = RegistryObject<Subscription> | undefined

const iso = (ms: number) => new Date(ms).toISOString()

/** Applies one change; unknown actions are refused. */
export function applySubscription(
  current: Current,
  change: ChangeRequest,
  context: ChangeContext,
): Applied<Subscription> {
  if (change.action === 'create') return create(current, change, context)
  if (!current || current.deleted) {
    if (change.action === 'put') return create(undefined, change, context)
    return refuse('not-found', `There is no subscription ${change.id}; create it first.`)
  }
  const barred = notYours(current.doc, change) ?? checkVersion(current, change)
  if (barred) return barred
  const apply = ACTIONS[change.action]
  if (!apply) return refuse('bad-request', `A subscription has no action ${change.action}.`)
  return apply(current.doc, change, context)
}

/**
 * People's changes compare the whole version; the system's compare the operation part only, so
 * that an edit of the text does not save a subscription from its suspension.
 */
function checkVersion(current: NonNullable<Current>, change: ChangeRequest): Refusal | undefined {
  if (change.by.kind !== 'system') return versionMismatch(current, change.ifVersion)
  if (change.ifVersion === null || current.doc.state.version <= change.ifVersion) return undefined
  return refuse('version-mismatch', 'The operation part has changed since the system decided.')
}

type Action = (
  doc: Subscription,
  change: ChangeRequest,
  context: ChangeContext,
) => Applied<Subscription>

const ACTIONS: Record<string, Action> = {
  patch,
  put: replace,
  delete: (doc, change, context) => operate(doc, change, context, 'deleted'),
  pause,
  suspend: (doc, change, context) => operate(doc, change, context, 'suspended'),
  expire: (doc, change, context) => operate(doc, change, context, 'expired'),
  exhaust: (doc, change, context) => operate(doc, change, context, 'exhausted'),
  resume,
  approve: (doc, change, context) => decideApproval(doc, change, context, 'approved'),
  reject: (doc, change, context) => decideApproval(doc, change, context, 'rejected'),
}

function create(
  current: Current,
  change: ChangeRequest,
  context: ChangeContext,
): Applied<Subscription> {
  if (current && !current.deleted) {
    return refuse('conflict', `The subscription ${change.id} exists already; PATCH it instead.`)
  }
  const input = refusable(() => parseWith(subscriptionSchema, change.body))
  if (isRefusal(input)) return input
  const version = (current?.version ?? 0) + 1
  const owner = input.owner ?? ownerOf(change.by)
  const refusal =
    forged(input, owner, change.by) ??
    notAllowed(input, owner, change, context) ??
    scheduleRefusal(input.schedule, context)
  if (refusal) return refusal
  const at = iso(context.now)
  const doc: Subscription = {
    ...writable(input, owner, context),
    onBehalfOf: input.onBehalfOf ?? change.by.under?.onBehalfOf ?? null,
    id: change.id,
    tenant: change.tenant,
    version,
    origin: originOf(change.by),
    state: {
      approval: needsApproval(change, context) ? 'pending' : 'not-required',
      operation: 'active',
      reason: change.reason,
      by: principalName(change.by),
      at,
      version,
    },
    startsAt: context.startsAt,
    scheduled: scheduledPart(input.schedule ?? null, at),
    createdAt: at,
    updatedAt: at,
  }
  return { next: { version, deleted: false, doc }, status: 201 }
}

/** The part people write, with everything omitted decided. */
function writable(input: SubscriptionInput, owner: string, context: ChangeContext) {
  return {
    name: input.name,
    agent: input.agent,
    owner,
    onBehalfOf: input.onBehalfOf ?? null,
    instruction: input.instruction,
    session: input.session ?? null,
    workspace: input.workspace ?? null,
    managedBy: input.managedBy ?? null,
    on: input.on ?? null,
    schedule: input.schedule ?? null,
    observe: input.observe ?? null,
    filters: input.filters ?? [],
    condition: input.condition ?? null,
    limits: resolveLimits(input.limits, context.policy.defaults),
  }
}

function notAllowed(
  input: SubscriptionInput,
  owner: string,
  { by }: ChangeRequest,
  { policy, agent, connector, now }: ChangeContext,
): Refusal | undefined {
  const target = agent(input.agent)
  if (!target) {
    return refuse(
      'invalid',
      `There is no agent ${input.agent}; PUT /v1/agents/${input.agent} first.`,
      {
        pointer: '/agent',
        expected: 'an agent of this tenant',
        actual: input.agent,
      },
    )
  }
  const { expiresAt } = input.limits ?? {}
  if (expiresAt && Date.parse(expiresAt) <= now) {
    return refuse('invalid', `/limits/expiresAt: expected a coming instant, got ${expiresAt}.`, {
      pointer: '/limits/expiresAt',
      expected: 'a coming instant',
      actual: expiresAt,
    })
  }
  if (by.kind === 'agent' && !mayAgentSubscribe(by.id, input.agent, target, policy)) {
    return refuse(
      'forbidden',
      `The agent ${by.id} may not subscribe ${input.agent}; it needs a policy rule, or the ` +
        'capability selfSubscribe for itself.',
    )
  }
  const unobservable = observeRefusal(input, needGrant(by, owner), { policy, connector })
  if (unobservable) return unobservable
  const stranger = needGrant(by, owner).find(name => !isEntitled(policy, name, input.agent))
  if (stranger === undefined) return undefined
  return refuse(
    'forbidden',
    `${stranger} holds no subscribe grant for ${input.agent}; add one to the policy.`,
  )
}

/**
 * The owner, and the person who asks: naming somebody else as the owner lends no grant. Only
 * administrators and operators write for others; agents have rules of their own.
 */
function needGrant(by: ChangeRequest['by'], owner: string): string[] {
  const mayWriteForOthers = by.roles.includes('admin') || by.roles.includes('operator')
  return by.kind === 'person' && !mayWriteForOthers ? [owner, principalName(by)] : [owner]
}

function mayAgentSubscribe(
  from: string,
  to: string,
  target: { capabilities: { selfSubscribe: boolean } },
  policy: ChangeContext['policy'],
): boolean {
  if (from === to) return target.capabilities.selfSubscribe
  return policy.agentRules.some(rule => rule.from === from && rule.to === to && rule.allow)
}

function needsApproval({ by }: ChangeRequest, { policy }: ChangeContext): boolean {
  const origin = by.kind === 'agent' ? 'agent' : 'person'
  return policy.approval.some(
    rule => rule.require && (rule.when.origin === undefined || rule.when.origin === origin),
  )
}

function patch(
  doc: Subscription,
  change: ChangeRequest,
  context: ChangeContext,
): Applied<Subscription> {
  const merged = mergePatch(writtenPart(doc), change.body)
  return edit(doc, change, context, merged)
}

function replace(
  doc: Subscription,
  change: ChangeRequest,
  context: ChangeContext,
): Applied<Subscription> {
  return edit(doc, change, context, change.body)
}

function edit(
  doc: Subscription,
  change: ChangeRequest,
  context: ChangeContext,
  body: unknown,
): Applied<Subscription> {
  const input = refusable(() => parseWith(subscriptionSchema, body))
  if (isRefusal(input)) return input
  const owner = input.owner ?? doc.owner
  const given = forged(input, owner, change.by, doc)
  const refusal =
    given ??
    notAllowed(input, owner, change, context) ??
    scheduleRefusal(input.schedule, context, doc)
  if (refusal) return refusal
  const version = doc.version + 1
  const at = iso(context.now)
  const again = reopened(doc, input, change, context)
  const known = again.operation === doc.state.operation ? doc : undefined
  const next = {
    ...doc,
    ...writable(input, owner, context),
    version,
    updatedAt: at,
    state: unapproved(again, change, context),
    scheduled: scheduledPart(input.schedule ?? null, at, known),
  }
  return { next: { version, deleted: false, doc: next }, status: 200 }
}

/** An approval holds for what was approved: who needed one needs another for an edit. */
function unapproved(
  state: SubscriptionState,
  change: ChangeRequest,
  context: ChangeContext,
): SubscriptionState {
  const isAllowed = state.approval === 'approved' || state.approval === 'not-required'
  if (!isAllowed || !needsApproval(change, context)) return state
  const said = { reason: 'edited', by: principalName(change.by), at: iso(context.now) }
  return { ...state, approval: 'pending', ...said }
}

/** An edit that lifts the bound which ended a subscription makes it active again. */
function reopened(
  doc: Subscription,
  input: SubscriptionInput,
  change: ChangeRequest,
  context: ChangeContext,
): SubscriptionState {
  const { state, limits } = doc
  const isLonger =
    (state.operation === 'expired' && input.limits?.expiresAt !== limits.expiresAt) ||
    (state.operation === 'exhausted' && input.limits?.maxOccurrences !== limits.maxOccurrences)
  if (!isLonger) return state
  const { until: _until, ...rest } = state
  return {
    ...rest,
    operation: 'active',
    reason: 'limits edited',
    by: principalName(change.by),
    at: iso(context.now),
    version: doc.version + 1,
  }
}

/** What people wrote, from the stored form: the base of a merge patch. */
function writtenPart(doc: Subscription): Record<string, unknown> {
  const { name, agent, owner, onBehalfOf, instruction, session, workspace, managedBy } = doc
  const { on, schedule, observe, filters, condition, limits } = doc
  return {
    ...{ name, agent, owner, onBehalfOf, instruction, session, workspace, managedBy },
    ...{ on, schedule, observe, filters, condition, limits },
  }
}

function operate(
  doc: Subscription,
  change: ChangeRequest,
  context: ChangeContext,
  operation: SubscriptionState['operation'],
): Applied<Subscription> {
  const version = doc.version + 1
  const { until: _until, ...rest } = doc.state
  const until = untilOf(change.body)
  if (isRefusal(until)) return until
  const state: SubscriptionState = {
    ...rest,
    operation,
    reason: change.reason,
    by: principalName(change.by),
    at: iso(context.now),
    version,
    ...until,
  }
  const next = { ...doc, version, state, updatedAt: iso(context.now) }
  return { next: { version, deleted: operation === 'deleted', doc: next }, status: 200 }
}

function untilOf(body: unknown): { until?: string } | Refusal {
  const until = (body as { until?: unknown } | null)?.until
  if (until === undefined || until === null) return {}
  const at = typeof until === 'string' ? Date.parse(until) : Number.NaN
  if (Number.isNaN(at)) {
    return refuse('invalid', '/until: expected an RFC 3339 instant such as 2026-12-01T09:00:00Z.', {
      pointer: '/until',
    })
  }
  return { until: iso(at) }
}

/** What ended stays ended: a pause would hide the end, and its resume would undo it. */
function pause(
  doc: Subscription,
  change: ChangeRequest,
  context: ChangeContext,
): Applied<Subscription> {
  return refuseEnded(doc) ?? refuseLifting(doc, change) ?? operate(doc, change, context, 'paused')
}

/** A pause that ends by itself would end the suspension with it, and that needs a person. */
function refuseLifting({ state }: Subscription, { body }: ChangeRequest): Refusal | undefined {
  const until = (body as { until?: unknown } | null)?.until
  if (state.operation !== 'suspended' || until === undefined || until === null) return undefined
  return refuse(
    'conflict',
    'The subscription is suspended; resume it first, or pause it without "until".',
    { pointer: '/until', expected: 'no end', actual: 'an end' },
  )
}

function refuseEnded({ state: { operation } }: Subscription): Refusal | undefined {
  if (operation !== 'expired' && operation !== 'exhausted') return undefined
  return refuse('conflict', `The subscription is ${operation}; raise its limits with PATCH first.`)
}

function resume(
  doc: Subscription,
  change: ChangeRequest,
  context: ChangeContext,
): Applied<Subscription> {
  const ended = refuseEnded(doc)
  if (ended) return ended
  const done = operate(doc, { ...change, body: null }, context, 'active')
  if (isRefusal(done)) return done
  const scheduled = restarted(doc, iso(context.now))
  const next = { ...done.next.doc, startsAt: context.startsAt, scheduled }
  return { ...done, next: { ...done.next, doc: next } }
}

function decideApproval(
  doc: Subscription,
  change: ChangeRequest,
  context: ChangeContext,
  approval: 'approved' | 'rejected',
): Applied<Subscription> {
  const version = doc.version + 1
  const at = iso(context.now)
  const state = { ...doc.state, approval, reason: change.reason, by: principalName(change.by), at }
  const isApproved = approval === 'approved'
  const startsAt = isApproved ? context.startsAt : doc.startsAt
  const scheduled = isApproved ? restarted(doc, at) : (doc.scheduled ?? null)
  const next = { ...doc, version, state, startsAt, scheduled, updatedAt: at }
  return { next: { version, deleted: false, doc: next }, status: 200 }
}
