/**
 * StateStore on Redis 6.2 or newer. Documents are strings `version\nbody`, counters hashes with
 * one field per writer, due queues sorted sets, outboxes hashes, fences strings. Every call is one
 * Lua script and one round trip; calls made at the same time share one write to the socket.
 *
 * S5: the clock is the server's TIME, held from going back by what this process has seen and by
 * what the tenant's last commit stored. Times to live are counted by the server alone.
 */
import assert from 'node:assert/strict'
import { compareUtf8 } from '../../domain/compare-utf8.ts'
import type { DueEntry, Loaded, StateStore } from '../../ports/state-store.ts'
import {
  type CommitReply,
  decodeCommit,
  encodeCommit,
  fenceText,
  parseFence,
} from './redis-commit.ts'
import { openRedisConnection, type RedisConnectionOptions } from './redis-connection.ts'
import { redisKeys } from './redis-keys.ts'
import { REDIS_SCRIPTS } from './redis-scripts.ts'

export interface RedisStateStoreOptions extends RedisConnectionOptions {
  /** Starts every key; without braces. Default `ambit:`. */
  prefix?: string
}

/**
 * Connects to a Redis. Rejects `store-unavailable` when it does not answer in time or would evict
 * keys; later losses of the connection reject single calls and heal by themselves.
 */
export async function openRedisStateStore(options: RedisStateStoreOptions): Promise<StateStore> {
  const { prefix = 'ambit:' } = options
  const connection = await openRedisConnection(options)
  const keysOf = (tenant: string) => redisKeys(prefix, tenant)
  const { commit, load, peekDue, takeFence, readOutbox } = REDIS_SCRIPTS
  let seenMs = 0
  const seen = (now: number): number => {
    seenMs = Math.max(seenMs, now)
    return seenMs
  }

  return {
    atomicWithLog: false,
    async load({ tenant, documents, counters = [] }) {
      const keys = keysOf(tenant)
      const names = [...documents.map(keys.document), ...counters.map(keys.counter)]
      const args = [String(seenMs), String(documents.length)]
      const reply = await connection.run(load, [keys.clock, ...names], args)
      const [now, bodies, sums] = reply as [number, (string | null)[], string[]]
      return { now: seen(now), ...loadedFrom({ documents, counters }, bodies, sums) }
    },
    async commit(request) {
      assert.ok(!request.append && !request.offset, 'Redis shares no transaction with the log')
      const { keys, args } = encodeCommit(request, keysOf(request.tenant), seenMs)
      const reply = (await connection.run(commit, keys, args)) as CommitReply
      const result = decodeCommit(request, reply)
      return { ...result, now: seen(result.now) }
    },
    async takeFence(tenant, fence) {
      const keys = [keysOf(tenant).fence(fence.key)]
      const reply = await connection.run(takeFence, keys, [String(fence.epoch), fenceText(fence)])
      const [taken, stored] = reply as [number, string]
      return { taken: taken === 1, stored: parseFence(stored) }
    },
    async peekDue(tenant, queue, max) {
      const keys = keysOf(tenant)
      const args = [String(seenMs), String(max + 1)]
      const reply = await connection.run(peekDue, [keys.clock, keys.queue(queue)], args)
      const [found, flat] = reply as [number, string[]]
      const now = seen(found)
      const entries = pairs(flat).map(([id, at]): DueEntry => ({ id, at: Number(at) }))
      const due = entries.slice(0, max).filter(({ at }) => at <= now)
      return { now, due, next: entries[due.length]?.at }
    },
    async readOutbox(tenant, outbox) {
      const reply = await connection.run(readOutbox, [keysOf(tenant).outbox(outbox)], [])
      const entries = pairs(reply as string[]).map(([id, body]) => ({ outbox, id, body }))
      return entries.sort((a, b) => compareUtf8(a.id, b.id))
    },
    stop: () => connection.stop(),
  }
}

function loadedFrom(
  asked: { documents: string[]; counters: string[] },
  bodies: (string | null)[],
  sums: string[],
): Omit<Loaded, 'now'> {
  const loaded = { documents: new Map(), counters: new Map() } satisfies Omit<Loaded, 'now'>
  for (const [i, key] of asked.documents.entries()) {
    const text = bodies[i]
    if (typeof text !== 'string') continue
    const end = text.indexOf('\n')
    const version = Number(text.slice(0, end))
    loaded.documents.set(key, { version, body: text.slice(end + 1) })
  }
  for (const [i, name] of asked.counters.entries()) loaded.counters.set(name, Number(sums[i]))
  return loaded
}

function pairs(flat: string[]): [string, string][] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!])
}
