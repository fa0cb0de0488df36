/**
 * What the poller finds out about a connector's operations: the hash of one that is read first,
 * and that one is not what was allowed any more. Writing the connector again forgets both.
 */
import type { Connector } from '#kernel/domain/connector.ts'
import type { Applied, ChangeRequest, RegistryObject } from './change-request.ts'
import { refuse } from './change-request.ts'

type Doc = Record<string, unknown>

/** Applies `pin` or `flag`; both belong to the version of the connector that was seen. */
export function markConnector(
  current: RegistryObject<Doc> | undefined,
  change: ChangeRequest,
  now: number,
): Applied<Doc> {
  if (change.by.kind !== 'system') return refuse('forbidden', 'Only the poller marks operations.')
  if (!current || current.deleted) return refuse('not-found', `No connector ${change.id}.`)
  const { operation, hash } = change.body as { operation: string; hash: string | null }
  const { pins, changed } = current.doc as unknown as Connector
  const version = current.version + 1
  const marks =
    change.action === 'pin'
      ? { pins: { ...pins, [operation]: pins[operation] ?? hash } }
      : { changed: { ...changed, [operation]: { hash, at: new Date(now).toISOString() } } }
  return {
    next: { version, deleted: false, doc: { ...current.doc, ...marks, version } },
    status: 200,
  }
}
