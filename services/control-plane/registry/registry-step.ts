/**
 * The registry: the one door for changes. An ordinary step over `registry.changes`; each change
 * is applied by a pure function and answered once, also when it is asked twice.
 */

import { splitTenantKey, tenantKey } from '#kernel/domain/ids.ts'
import { type ObjectKind, objectKey, TABLE_OF } from '#kernel/domain/object-key.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { isLive, type StartsAt, type Subscription } from '#kernel/domain/subscription.ts'
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { ERRORS } from '#kernel/errors.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { Calendars } from '#kernel/host/follow-calendars.ts'
import { OWN_QUEUE, type Step, type StepItem } from '#kernel/host/step.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Answer, Change } from '#schemas/generated/records.ts'
import { applyObject } from './apply-object.ts'
import { applySubscription } from './apply-subscription.ts'
import { changeContext } from './change-context.ts'
import type { ChangeRequest, RegistryObject } from './change-request.ts'
import { isRefusal } from './change-request.ts'
import { changedMembers } from './changed-members.ts'
import { dueHints, requestDue } from './registry-due.ts'
import { registryRebuild } from './registry-rebuild.ts'

/** Ms during which the same change id gets the same answer. */
const ANSWERED_TTL_MS = 24 * 3_600_000

/** A change and the ingress positions read after it. */
export interface RegistryItem {
  change: Change
  startsAt: StartsAt
}

export interface RegistryWorld {
  codec: RecordCodec
  directory: Directory
  calendars: Pick<Calendars, 'book' | 'barrier'>
  /** End offsets of the ingress topics that a tenant's subscriptions may match. */
  ingressEnds(tenants: string[]): Promise<Map<string, StartsAt>>
}

export function createRegistryStep(world: RegistryWorld): Step<RegistryItem> {
  const { codec } = world
  return {
    name: 'registry',
    topics: ['registry.changes'],
    journal: 'audit',
    // A marker without a durable table record, in a store that is then lost, is waited for in vain.
    lastTopics: ['candidates', 'registry.answers'],
    rebuild: registryRebuild(codec),
    read: record => {
      if (!record.value) return null
      const change = codec.decode('change', record.value)
      return { tenant: change.tenant, value: { change, startsAt: {} } }
    },
    prepare: async items => {
      const ends = await world.ingressEnds([...new Set(items.map(item => item.tenant))])
      for (const item of items) item.value.startsAt = ends.get(item.tenant) ?? {}
      // A meeting that was answered before its subscription was asked for is found.
      if (items.some(item => isAnchored(item.value.change.body))) await world.calendars.barrier()
    },
    hints: ({ value: { change } }) => ({
      documents: [documentKey(change.kind, change.id), answerKey(change.changeId)],
      counters: [],
    }),
    decide: (unit, item) => decideChange(unit, item, world),
    dueHints,
    decideDue: requestDue,
    reassertTopics: [...new Set(Object.values(TABLE_OF))],
    reassertHints: (_tenant, key) => {
      const { kind, id } = objectOf(key)
      return { documents: [documentKey(kind, id)], counters: [] }
    },
    reassert: (unit, key) => {
      const { kind, id } = objectOf(key)
      const current = unit.get<RegistryObject>(documentKey(kind, id))
      if (current) emitTable(unit, { tenant: unit.tenant, kind, id }, current)
    },
  }
}

const documentKey = (kind: string, id: string) => `reg/${kind}/${id}`
const answerKey = (changeId: string) => `answered/${changeId}`

/** Only a hint of what to wait for; the body is parsed later. */
function isAnchored(body: unknown): boolean {
  return (body as { schedule?: { anchor?: unknown } | null } | null)?.schedule?.anchor !== undefined
}

function decideChange(unit: UnitOfWork, item: StepItem<RegistryItem>, world: RegistryWorld): void {
  const { change } = item.value
  const answered = unit.get<Answer>(answerKey(change.changeId))
  if (answered) {
    emitAnswer(unit, answered)
    return
  }
  const request = toRequest(change)
  const current = unit.get<RegistryObject>(documentKey(change.kind, change.id))
  const moment = { startsAt: item.value.startsAt, now: unit.now }
  const context = changeContext(world, change.tenant, moment)
  const outcome =
    request.kind === 'subscription'
      ? applySubscription(current as RegistryObject<Subscription> | undefined, request, context)
      : applyObject(
          current as RegistryObject<Record<string, unknown>> | undefined,
          request,
          context,
        )
  if (isRefusal(outcome)) {
    emitAudit(unit, change, { version: current?.version ?? 0, outcome: 'refused', changes: [] })
    const { refused, message, facts } = outcome
    const { cause: _cause, ...shown } = facts ?? {}
    const body = { message, facts: shown }
    answer(unit, change, { status: ERRORS[refused].status, code: refused, body })
    return
  }
  unit.put(documentKey(change.kind, change.id), outcome.next)
  emitTable(unit, request, outcome.next)
  const changes = changedMembers(current?.doc, outcome.next.doc)
  emitAudit(unit, change, { version: outcome.next.version, outcome: 'applied', changes })
  if (request.kind === 'subscription') {
    announce(unit, change, outcome.next.doc as Subscription)
  }
  answer(unit, change, { status: outcome.status, code: null, body: outcome.next.doc })
}

function toRequest(change: Change): ChangeRequest {
  return {
    ...change,
    kind: change.kind as ObjectKind,
    by: change.by as Principal,
  }
}

/** Reads what `objectKey` wrote. */
function objectOf(key: string): Pick<ChangeRequest, 'kind' | 'id'> {
  const [, kind = '', id = ''] = splitTenantKey(key)
  return { kind: kind as ObjectKind, id }
}

function emitTable(
  unit: UnitOfWork,
  { tenant, kind, id }: Pick<ChangeRequest, 'tenant' | 'kind' | 'id'>,
  next: RegistryObject,
): void {
  unit.emit({
    topic: TABLE_OF[kind],
    key: objectKey(tenant, kind, id),
    id: `${kind}/${id}/${next.version}`,
    tenant,
    value: {
      tenant,
      kind,
      id,
      version: next.version,
      deleted: next.deleted,
      updatedAt: unit.now,
      doc: next.doc,
    },
  })
}

function emitAudit(
  unit: UnitOfWork,
  change: Change,
  result: { version: number; outcome: string; changes: unknown },
): void {
  const { tenant, kind, id, action, by, reason, changeId } = change
  unit.emit({
    topic: 'audit',
    key: tenantKey(tenant, kind, id),
    id: changeId,
    tenant,
    value: { tenant, kind, id, action, by, reason, changeId, at: unit.now, ...result },
  })
}

/**
 * The change marker: appended before the answer, so that the guard, which takes versions from
 * markers, delivers nothing that was decided under the old version after the answer. It also
 * keeps the due entries for `until` and `expiresAt`.
 */
function announce(unit: UnitOfWork, change: Change, doc: Subscription): void {
  const { tenant, changeId } = change
  unit.emit({
    topic: 'candidates',
    key: tenantKey(tenant, doc.id),
    id: `${changeId}/marker`,
    tenant,
    value: {
      kind: 'marker',
      tenant,
      subscription: doc.id,
      version: doc.version,
      candidateId: '',
      occurrenceId: '',
      event: null,
      position: null,
      recordedAt: null,
      verdict: null,
      skipped: null,
      marker: { changeId, operation: doc.state.operation, approval: doc.state.approval },
      at: unit.now,
    },
  })
  const { operation, until } = doc.state
  const expiresAt = isLive(doc.state) ? doc.limits.expiresAt : null
  const ends = operation === 'deleted' ? undefined : (until ?? expiresAt)
  unit.due(OWN_QUEUE, `subscription/${doc.id}`, ends ? Date.parse(ends) : null)
}

function answer(
  unit: UnitOfWork,
  change: Change,
  result: Pick<Answer, 'status' | 'code' | 'body'>,
): void {
  const { changeId, tenant } = change
  const record: Answer = { changeId, tenant, at: unit.now, ...result }
  unit.put(answerKey(changeId), record, { ttlMs: ANSWERED_TTL_MS })
  emitAnswer(unit, record)
}

function emitAnswer(unit: UnitOfWork, value: Answer): void {
  const { changeId, tenant } = value
  unit.emit({ topic: 'registry.answers', key: changeId, id: changeId, tenant, value })
}
