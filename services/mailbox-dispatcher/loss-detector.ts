/**
 * Notices that the store holds less of a mailbox than the log has shown (I5). Claims and settlings
 * carry no fence, so the owner's own check cannot see them missing; versions can.
 */
import type { UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import { UNBUILT } from '#kernel/host/partition-owner.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'
import type { MailboxTransition } from '#schemas/generated/records.ts'
import { LostState } from './lost-state.ts'
import { approvalKey, MAILBOX_STEP, mailboxKey, messageKey, readyKey } from './message-document.ts'
import type { Run } from './run-result.ts'

/** Documents whose newest version is remembered. */
const SEEN_MAX = 50_000
/** Documents that were missed and asked for. */
const MISSED_MAX = 10_000
/** Tries to take the fence from an owner that changes. */
const TRIES_MAX = 5

interface Seen {
  version: number
  agent: string
}

/** What a suspicion turned out to be. */
export type LossFinding =
  /** Versions moved between loading and comparing. */
  | 'false-alarm'
  /** The owner rebuilds, or will within a second. */
  | 'rebuilding'
  /** A rebuild did not bring it back: the log has forgotten it too. */
  | 'forgotten'

export interface LossDetector {
  /** Remembers what the log says is there. */
  note(transition: MailboxTransition): void
  /** The same unit, whose reads throw `LostState` where the store is behind the log. */
  watch(unit: UnitOfWork): UnitOfWork
  /** Agent of a document that the log has shown. */
  agentOf(tenant: string, key: string): string | undefined
  /**
   * Was the partition rebuilt because of this document, and is it still missing? Nobody asks for
   * it twice. `readyVersion` is that of the partition's ready document now: while it is the one
   * under which the rebuild was asked for, nothing has been rebuilt.
   */
  isForgotten(tenant: string, key: string, readyVersion: number): boolean
  /** Looks again, and asks the owner of the partition for a rebuild when it is true. */
  resolve(tenant: string, lost: LostState, partition: number): Promise<LossFinding>
}

export function createLossDetector(world: { store: StateStore; logger: Logger }): LossDetector {
  const { store } = world
  const seen = new Map<string, Seen>()
  /** Version of the ready document under which a rebuild was asked for, by missing document. */
  const missed = new Map<string, number>()
  const remember = (name: string, at: Seen) => {
    if (at.version <= (seen.get(name)?.version ?? 0)) return
    missed.delete(name)
    seen.delete(name)
    seen.set(name, at)
    if (seen.size > SEEN_MAX) seen.delete(seen.keys().next().value ?? '')
  }
  const isForgotten = (tenant: string, key: string, readyVersion: number) => {
    if (store.atomicWithLog) return true
    const asked = missed.get(nameOf(tenant, key))
    return asked !== undefined && asked !== readyVersion
  }
  return {
    note({ tenant, agent, messageId, version, mailboxVersion, run }) {
      remember(nameOf(tenant, messageKey(messageId)), { version, agent })
      remember(nameOf(tenant, mailboxKey(agent)), { version: mailboxVersion, agent })
      const { approvalId } = (run ?? {}) as Partial<Run>
      if (approvalId) remember(nameOf(tenant, approvalKey(approvalId)), { version: 1, agent })
    },
    watch: unit => (store.atomicWithLog ? unit : watched(unit, { seen, missed })),
    agentOf: (tenant, key) => seen.get(nameOf(tenant, key))?.agent,
    isForgotten,
    async resolve(tenant, { missing }, partition) {
      const ready = readyKey(partition)
      const documents = [ready, ...missing.map(({ key }) => key)]
      const loaded = await store.load({ tenant, documents })
      const versionOf = (key: string) => loaded.documents.get(key)?.version ?? 0
      const gone = missing.filter(({ key, version }) => versionOf(key) < version)
      if (gone.length === 0) return 'false-alarm'
      const readyVersion = versionOf(ready)
      if (readyVersion === 0) return 'rebuilding'
      const names = gone.map(({ key }) => nameOf(tenant, key))
      if (gone.every(({ key }) => isForgotten(tenant, key, readyVersion))) {
        for (const name of names) seen.delete(name)
        return 'forgotten'
      }
      for (const name of names) missed.set(name, readyVersion)
      while (missed.size > MISSED_MAX) missed.delete(missed.keys().next().value ?? '')
      await requestRebuild(world, { tenant, partition, readyVersion })
      return 'rebuilding'
    },
  }
}

const nameOf = (tenant: string, key: string) => `${tenant}\n${key}`

/** Compares at the first read of each document, before the unit itself writes it. */
function watched(
  unit: UnitOfWork,
  { seen, missed }: { seen: Map<string, Seen>; missed: Map<string, number> },
): UnitOfWork {
  const read = new Set<string>()
  return {
    ...unit,
    get: <T>(key: string) => {
      const value = unit.get<T>(key)
      const name = nameOf(unit.tenant, key)
      const expected = seen.get(name)
      if (!read.has(key) && expected && unit.version(key) < expected.version) {
        throw new LostState([{ key, version: expected.version }], expected.agent)
      }
      read.add(key)
      if (value !== undefined) missed.delete(name)
      return value
    },
  }
}

/**
 * Takes the fence from the owner: at its next check it finds a store that nobody has built and
 * rebuilds it. Only then the partition is closed; a rebuild that was faster has opened it anew.
 */
async function requestRebuild(
  { store, logger }: { store: StateStore; logger: Logger },
  at: { tenant: string; partition: number; readyVersion: number },
): Promise<void> {
  const { tenant, partition, readyVersion } = at
  const key = `fence/${MAILBOX_STEP}/${partition}`
  const ready = readyKey(partition)
  logger.warn({ tenant, partition }, 'the store is behind mailbox.state; asking for a rebuild')
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const blank = { key, incarnation: UNBUILT, epoch: 0, seq: 0 }
    const { stored } = await store.takeFence(tenant, blank)
    const isAsked = !stored || stored.incarnation === UNBUILT
    const epoch = (stored?.epoch ?? 0) + 1
    if (!isAsked && !(await store.takeFence(tenant, { ...blank, epoch })).taken) continue
    const put = [{ key: ready, version: 0, body: null }]
    await store.commit({ tenant, expect: { [ready]: readyVersion }, put })
    return
  }
}
