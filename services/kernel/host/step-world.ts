/** What a step is run in. */
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import type { RecordWriter } from './record-writer.ts'

export interface StepWorld {
  log: EventLog
  store: StateStore
  clock: Clock
  ids: Ids
  logger: Logger
  writer: RecordWriter
  /** Read barrier and policy freshness; awaited once per batch. */
  gate(): Promise<void>
  /** Tenants whose outboxes and due entries a new owner must take over at once. */
  knownTenants(): string[]
  batchMax?: number
}
