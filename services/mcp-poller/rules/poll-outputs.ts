/** Everything a poll writes besides the position: events, changes, notices. */
import type { Connector } from '#kernel/domain/connector.ts'
import { connectorMark } from '#kernel/domain/connector-mark.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { toEventRecord } from '#kernel/domain/event-record.ts'
import { hashId, tenantKey } from '#kernel/domain/ids.ts'
import { EVENT_PREFIX } from '#kernel/domain/mcp-offer.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { Change, Notice } from '#schemas/generated/records.ts'
import type { Fresh } from './novelty.ts'
import { type Observation, POLLER, type Subscriber } from './observation-book.ts'

const iso = (ms: number) => new Date(ms).toISOString()

/**
 * One event per new or changed item. The id comes from the observation, the identity and, where
 * changes are watched, the digest: an item that is read twice is one event.
 */
export function eventOutput(
  { id: observation, tenant, scope, observe }: Observation,
  { item, change, time }: Fresh & { time?: string },
  now: number,
): Output {
  const { connector, operation, watch } = observe
  const { identity, digest } = item
  const dedupkey = watch === 'changed' ? `${identity}@${digest}` : identity
  const id = hashId('e', tenant, observation, dedupkey)
  const source = `/mcp/${connector}`
  const event: CloudEvent = {
    specversion: '1.0',
    ...{ id, source, subject: observation, dedupkey },
    type: `mcp.${connector}.${operation.replace(EVENT_PREFIX, '')}`,
    time: time ?? iso(now),
    recordedtime: iso(now),
    datacontenttype: 'application/json',
    ...{ tenant, onbehalfof: scope, change },
    data: item.data,
  }
  const key = tenantKey(tenant, source, observation)
  return { topic: 'ingress.mcp', key, id, tenant, value: toEventRecord(event) }
}

/** Asks the registry to suspend a subscription; the same version seen is the same change. */
export function suspendOutput(
  { tenant }: Observation,
  { id, version }: Subscriber,
  { reason, now }: { reason: string; now: number },
): Output {
  const body = { kind: 'source' }
  const changeId = hashId('x', tenant, POLLER.id, 'suspend', id, version)
  const change = { id, action: 'suspend', body, reason, ifVersion: version, at: now }
  return changeOutput(tenant, changeId, { kind: 'subscription', ...change })
}

/** Tells the registry the hash of an operation: as it was read first, or that it is another. */
export function markOutput(
  connector: Connector,
  action: 'pin' | 'flag',
  { operation, hash, now }: { operation: string; hash: string | null; now: number },
): Output {
  return connectorMark(connector, { action, operation, hash, service: POLLER.id, now })
}

function changeOutput(
  tenant: string,
  changeId: string,
  change: Omit<Change, 'changeId' | 'tenant' | 'by'> & { kind: 'subscription' },
): Output {
  const value: Change = { changeId, tenant, ...change, by: { tenant, ...POLLER } }
  const key = objectKey(tenant, change.kind, change.id)
  return { topic: 'registry.changes', key, id: changeId, tenant, value }
}

export interface Told {
  kind: string
  severity: 'info' | 'warning' | 'critical'
  cause: string
  text: string
  details: Record<string, unknown>
  /** Told beside the owners of the subscriptions. */
  owner?: string
}

/** Subscriptions that a notice names at most. */
const NAMED_MAX = 20

/** One notice for each owner; the same cause gives the same notice. */
export function noticeOutputs(
  { tenant, id, observe }: Observation,
  subscribers: readonly Subscriber[],
  { owner, cause, details, ...told }: Told,
  now: number,
): Output[] {
  const { connector, operation } = observe
  const owners = new Set([...subscribers.map(each => each.owner), ...(owner ? [owner] : [])])
  return [...owners].map(name => {
    const own = subscribers.filter(each => each.owner === name)
    const [first] = own
    const notice: Notice = {
      id: hashId('n', tenant, cause, name),
      tenant,
      ...{ ...told, cause, owner: name, agent: null, messageId: null, at: now },
      subscription: own.length === 1 && first ? first.id : null,
      details: {
        ...{ ...details, connector, operation, observation: id },
        subscriptions: own.slice(0, NAMED_MAX).map(each => each.id),
      },
    }
    const key = tenantKey(tenant, name)
    return { topic: 'notices', key, id: notice.id, tenant, value: notice }
  })
}
