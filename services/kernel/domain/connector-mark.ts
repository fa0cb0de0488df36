/** What a reader of MCP servers tells the registry about an operation of a connector. */
import type { Change } from '#schemas/generated/records.ts'
import type { Connector } from './connector.ts'
import { hashId } from './ids.ts'
import { objectKey } from './object-key.ts'
import type { Output } from './unit-of-work.ts'

export interface ConnectorMark {
  /** `pin`: the hash as it was read first; `flag`: it is not what was allowed. */
  action: 'pin' | 'flag'
  operation: string
  hash: string | null
  /** Name of the service that read it. */
  service: string
  /** Epoch ms. */
  now: number
}

/**
 * The change for `registry.changes`. A mark belongs to the version that was seen; the same mark of
 * one version is one change, and of two different ones at once one is asked for again.
 */
export function connectorMark(
  { tenant, id, version }: Pick<Connector, 'tenant' | 'id' | 'version'>,
  { action, operation, hash, service, now }: ConnectorMark,
): Output {
  const changeId = hashId('x', tenant, service, action, id, version, operation, hash ?? '')
  const value: Change = {
    ...{ changeId, tenant, kind: 'connector', id, action, body: { operation, hash } },
    reason: action === 'pin' ? 'read first' : 'not what was allowed',
    ...{ ifVersion: version, at: now, by: { tenant, kind: 'system', id: service, roles: [] } },
  }
  const key = objectKey(tenant, 'connector', id)
  return { topic: 'registry.changes', key, id: changeId, tenant, value }
}
