/**
 * Where operations are kept, as turns and the background runner see it.
 *
 * - O1 `accept` is durable before it resolves, and accepting an id twice changes nothing.
 * - O2 `change` applies to the newest state; when somebody else changed it
 *   first, it is asked again.
 */
import type { SessionKey } from '../loop/session-store.ts'
import type { Operation } from './operation.ts'

export interface OperationStore {
  ofSession(key: SessionKey): Promise<Operation[]>
  accept(operations: Operation[]): Promise<void>
  /** Resolves with what is stored afterwards; undefined when the change does not apply. */
  change(
    operation: Operation,
    next: (current: Operation) => Operation | undefined,
  ): Promise<Operation | undefined>
}
