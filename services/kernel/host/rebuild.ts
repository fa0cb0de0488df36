/** Gives a lost store its documents back from the log (I5; docs/guarantees.md). */

import { stringifyLossless } from '#kernel/domain/lossless-json.ts'
import { readable } from '#kernel/domain/readable.ts'
import type { FollowOptions, LogRecord } from '#kernel/ports/event-log.ts'
import type { Fence } from '#kernel/ports/state-store.ts'
import {
  createSignatureOrder,
  type FenceSignature,
  isSignedBy,
  signatureOf,
} from './fence-signature.ts'
import { decodeOutbox } from './outbox.ts'
import { type Restored, reassertTopicsOf, type Step } from './step.ts'
import type { StepWorld } from './step-world.ts'
import { tailOf } from './tail-of.ts'
import type { TenantCensus } from './tenant-census.ts'

/** Documents written by one commit of a rebuild. */
const CHUNK = 200

/** What the newest records say about the fence of one tenant in one partition. */
export interface LoggedFence {
  partition: number
  tenant: string
  /** Highest seq by incarnation. */
  signs: Map<string, number>
  /** Highest epoch of any owner. */
  epoch: number
  /** Incarnation of the newest record, and when that was appended. */
  last: string
  at: number
  /** Keys in compacted topics of which a record of an older owner came last (F28). */
  overtaken: Set<string>
}

/**
 * Reads the newest records of partitions: a store that holds less than they say lost commits while
 * the owner changed. The other sources of a rebuild count too, because an append that was cut off
 * may have left out the journal. No clock is compared, so that none can hide a loss.
 */
export async function readJournalTail<T>(
  step: Step<T>,
  world: StepWorld,
  partitions: number[],
): Promise<LoggedFence[]> {
  if (!step.journal || world.store.atomicWithLog) return []
  const newest = new Map<string, LoggedFence>()
  const topics = [...new Set([step.journal, ...(step.rebuild?.sources ?? []).map(s => s.topic)])]
  const compacted = new Set(reassertTopicsOf(step))
  const order = createSignatureOrder()
  await readOnce(world.log, {
    topics,
    partitions,
    from: await tailOf(world.log, topics),
    onRecords: records => {
      for (const record of records) {
        const signed = signatureOf(record)
        if (!signed || !isSignedBy(signed, step.name, record.partition)) continue
        const logged = noteSignature(newest, record, signed)
        if (!record.key || !compacted.has(record.topic)) continue
        const key = Buffer.from(record.key).toString()
        if (order.isLate(record, signed)) logged.overtaken.add(key)
        else logged.overtaken.delete(key)
      }
    },
  })
  return [...newest.values()]
}

function noteSignature(
  newest: Map<string, LoggedFence>,
  { partition, timestamp: at }: LogRecord,
  { tenant, incarnation, epoch, seq }: FenceSignature,
): LoggedFence {
  const id = `${partition}\n${tenant}`
  const blank = { partition, tenant, signs: new Map(), overtaken: new Set<string>() }
  const entry: LoggedFence = newest.get(id) ?? { ...blank, epoch: 0, last: incarnation, at }
  entry.epoch = Math.max(entry.epoch, epoch)
  entry.signs.set(incarnation, Math.max(entry.signs.get(incarnation) ?? 0, seq))
  if (at >= entry.at) Object.assign(entry, { last: incarnation, at })
  newest.set(id, entry)
  return entry
}

/**
 * Reads the step's sources for one partition and writes what they hold for one tenant; answers the
 * fence after its last commit.
 */
export async function rebuildTenant<T>(
  step: Step<T>,
  world: StepWorld,
  target: { partition: number; tenant: string; fence: Fence; census?: TenantCensus },
): Promise<Fence> {
  if (!step.rebuild) return target.fence
  const { partition, tenant, census } = target
  const fence = await closeToOthers(step, world, target)
  // After closing: what a former owner may still append was committed, and drained, before.
  const isKnown = census === undefined || (await census.has(tenant))
  const sources = isKnown ? step.rebuild.sources : []
  const restored: Restored = {
    documents: new Map(),
    counters: new Map(),
    due: new Map(),
    outputs: [],
  }
  const other: Restored = { documents: new Map(), counters: new Map(), due: new Map(), outputs: [] }
  for (const { topic, ageMs } of sources) {
    const now = world.clock.now()
    const of = (name: string) => (name === tenant ? restored : other)
    await readOnce(world.log, {
      topics: [topic],
      partitions: [partition],
      from: ageMs === undefined ? 'beginning' : { sinceMs: now - ageMs },
      onRecords: records => {
        for (const record of records) readable(() => step.rebuild?.fold(of, record, now))
      },
    })
  }
  world.logger.info(
    { tenant, step: step.name, partition, documents: restored.documents.size },
    'state rebuilt from the log',
  )
  return writeBack(step, world, { ...target, fence }, restored)
}

/** Reads everything that is there now. */
async function readOnce(log: StepWorld['log'], options: FollowOptions): Promise<void> {
  const following = await log.follow(options)
  try {
    await following.barrier()
  } finally {
    await following.stop()
  }
}

/** After this nobody else commits until the rebuild is done, and what they did is in the log. */
async function closeToOthers<T>(
  step: Step<T>,
  world: StepWorld,
  { partition, tenant, fence }: { partition: number; tenant: string; fence: Fence },
): Promise<Fence> {
  const { remove, drain } = step.rebuild?.begin?.(partition) ?? { remove: [], drain: [] }
  if (remove.length === 0) return fence
  const put = remove.map(key => ({ key, version: 0, body: null }))
  const result = await world.store.commit({ tenant, fence, put })
  if (result.kind !== 'ok') throw new Error(`rebuild of ${step.name} was overtaken: ${result.kind}`)
  for (const outbox of world.store.atomicWithLog ? [] : drain) {
    const entries = await world.store.readOutbox(tenant, outbox)
    if (entries.length === 0) continue
    await world.log.append(entries.flatMap(({ body }) => decodeOutbox(body)))
    await world.store.commit({ tenant, clear: entries.map(({ id }) => ({ outbox, id })) })
  }
  return { ...fence, seq: fence.seq + 1 }
}

async function writeBack<T>(
  step: Step<T>,
  world: StepWorld,
  target: { partition: number; tenant: string; fence: Fence },
  restored: Restored,
): Promise<Fence> {
  const { tenant } = target
  const field = `${step.name}/${target.partition}`
  const queue = `due/${field}`
  let { fence } = target
  const puts = [...restored.documents].map(([key, { version, value, ttlMs }]) => ({
    key,
    version,
    ttlMs,
    body: value === undefined ? null : stringifyLossless(value),
  }))
  const due = [...restored.due.values()].map(d => ({
    ...d,
    queue: d.queue === 'own' ? queue : d.queue,
  }))
  const add = [...restored.counters].map(([counter, { amount, ttlMs }]) => ({
    counter,
    field,
    amount,
    ttlMs,
    set: true,
  }))
  for (let at = 0; at < Math.max(puts.length, due.length, add.length, 1); at += CHUNK) {
    const slice = <V>(list: V[]) => list.slice(at, at + CHUNK)
    const commit = { tenant, fence, put: slice(puts), due: slice(due), add: slice(add) }
    const result = await world.store.commit(commit)
    if (result.kind !== 'ok') throw new Error(`rebuild of ${field} was overtaken: ${result.kind}`)
    fence = { ...fence, seq: fence.seq + 1 }
  }
  if (restored.outputs.length > 0) {
    await world.log.append(restored.outputs.map(output => world.writer.encode(output)))
  }
  return fence
}
