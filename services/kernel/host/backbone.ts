import type { EventLog } from '#kernel/ports/event-log.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import type { RecordCodec } from '#schemas/codec.ts'

/** Transport and state of one process. */
export interface Backbone {
  kind: 'embedded' | 'distributed'
  log: EventLog
  store: StateStore
  codec: RecordCodec
  decodeConfluent?(bytes: Uint8Array): Promise<unknown>
  stop(): Promise<void>
}
