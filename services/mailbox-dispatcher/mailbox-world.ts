/** What the operations of a mailbox are given, and the parts they share. */
import type { Agent } from '#kernel/domain/agent.ts'
import { defaultAgent } from '#kernel/domain/agent.ts'
import type { HandleSigner } from '#kernel/domain/lease-handle.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog, LogRecord } from '#kernel/ports/event-log.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { EventRecord } from '#schemas/generated/records.ts'

export interface MailboxWorld {
  store: StateStore
  log: EventLog
  writer: RecordWriter
  codec: RecordCodec
  clock: Clock
  ids: Ids
  signer: HandleSigner
  directory: Directory
  logger: Logger
  /** Waits until policy and subscriptions as of now are visible; before `authorize` decides. */
  barrier?(): Promise<void>
  /** Ms since the control plane's last sign; 0 where there is no other plane. */
  heartbeatAgeMs?(): number
  /** How long effects go on without the control plane, ms. Default 1 h. */
  continuityMs?: number
  /** Counts steps of messages that this process made durable. */
  onTransition?(state: string): void
  /** Reads an event's body where it lies; by default of Avro records and outside producers. */
  readEvent?(record: LogRecord): EventRecord | Promise<EventRecord>
}

/** An agent nobody described has the default bounds. */
export function agentOf(directory: Directory, tenant: string, id: string): Agent {
  return directory.agent(tenant, id) ?? defaultAgent(tenant, id)
}

/** Did a person stop the agent, or the whole tenant? */
export function isStopped(directory: Directory, tenant: string, agent: string): boolean {
  const isAgentStopped = directory.agent(tenant, agent)?.stopped !== undefined
  return isAgentStopped || directory.tenant(tenant)?.stopped !== undefined
}
