/**
 * The operations on mailboxes: claim, work under a lease, and what people may do. Several processes
 * may serve the same mailbox; they meet at the versions of its documents (I6, I7).
 */
import { tenantKey } from '#kernel/domain/ids.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import { AmbitError, isAmbitError } from '#kernel/errors.ts'
import { tailOf } from '#kernel/host/tail-of.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { MailboxTransition } from '#schemas/generated/records.ts'
import { type ClaimedItem, type ClaimRequest, claimMessages } from './claim-messages.ts'
import { createLeaseOperations, type LeaseOperations } from './lease-operations.ts'
import { createLossDetector } from './loss-detector.ts'
import { createMailboxBell } from './mailbox-bell.ts'
import type { MailboxWorld } from './mailbox-world.ts'
import { createOperationRunner } from './operation-runner.ts'
import { createPerformer } from './performer.ts'
import { createPersonOperations, type PersonOperations } from './person-operations.ts'

/** Least ms between two reads of what other processes did; a claim may wait 250 ms to wake. */
const PACE_MS = 10

export interface Mailbox extends LeaseOperations, PersonOperations {
  /**
   * Leases up to `max` messages, oldest first; waits up to `waitMs` for a first one. Every answered
   * lease is in the log.
   */
  claim(
    tenant: string,
    agent: string,
    request: ClaimRequest,
    signal?: AbortSignal,
  ): Promise<ClaimedItem[]>
  /** Tells of outputs that were committed here, so that waiting claims need not hear the log. */
  note(outputs: readonly Output[]): void
  stop(): Promise<void>
}

/** Opens the mailboxes; resolves when the newest transitions were read. */
export async function createMailbox(world: MailboxWorld): Promise<Mailbox> {
  const { log, store, logger, clock, codec, directory } = world
  const detector = createLossDetector({ store, logger })
  const bell = createMailboxBell(clock)
  const heard = (transition: MailboxTransition) => {
    detector.note(transition)
    bell.ring(tenantKey(transition.tenant, transition.agent))
  }
  const following = await log.follow({
    topics: ['mailbox.state'],
    paceMs: PACE_MS,
    from: await tailOf(log, ['mailbox.state']),
    onRecords: records => {
      for (const record of records) hear(record)
    },
  })
  const hear = (record: LogRecord) => {
    if (!record.value) return
    try {
      heard(codec.decode('mailbox-transition', record.value))
    } catch (error) {
      // A schema that is still being fetched: the same records come again.
      if (isAmbitError(error) && error.code === 'not-ready') throw error
      const { partition, offset } = record
      logger.warn({ partition, offset, err: error }, 'unreadable transition')
    }
  }
  await following.barrier()
  const runner = createOperationRunner({
    ...world,
    tenants: () => directory.tenants(),
    onDurable: outputs => {
      for (const transition of transitionsOf(outputs)) {
        heard(transition)
        world.onTransition?.(transition.state)
      }
    },
  })
  const performer = createPerformer({ runner, detector, partitions: await partitionsOf(world) })
  const parts = { world, performer, detector, runner, bell }
  return {
    claim: (tenant, agent, request, signal) =>
      claimMessages(parts, { tenant, agent }, request, signal),
    ...createLeaseOperations(world, { performer, runner }),
    ...createPersonOperations(parts),
    note: outputs => {
      for (const { tenant, agent, state } of transitionsOf(outputs)) {
        bell.ring(tenantKey(tenant, agent))
        world.onTransition?.(state)
      }
    },
    async stop() {
      await following.stop()
      await runner.stop()
    },
  }
}

function transitionsOf(outputs: readonly Output[]): MailboxTransition[] {
  const own = outputs.filter(({ topic, value }) => topic === 'mailbox.state' && value !== null)
  return own.map(({ value }) => value as MailboxTransition)
}

async function partitionsOf({ log }: MailboxWorld): Promise<number> {
  const partitions = (await log.endOffsets(['mailbox'])).length
  if (partitions === 0) throw new AmbitError('log-unavailable', 'The topic mailbox is missing.')
  return partitions
}
