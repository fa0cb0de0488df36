/** Commits as `commit.lua` reads them, and its answers as the port has them. */
import assert from 'node:assert/strict'
import type { Commit, CommitResult, CounterAdd, Fence } from '../../ports/state-store.ts'
import type { RedisKeys } from './redis-keys.ts'

/** The arguments of one script call. */
export interface ScriptCall {
  keys: string[]
  args: string[]
}

const TTL_MAX_MS = 3_155_760_000_000

/** What is stored of a fence: epoch first, because `take-fence.lua` compares it. */
export function fenceText({ epoch, seq, incarnation }: Omit<Fence, 'key'>): string {
  return `${integer(epoch)} ${integer(seq)} ${incarnation}`
}

/** Reads what `fenceText` wrote; `null` where nothing is stored. */
export function parseFence(text: string | null): Omit<Fence, 'key'> | null {
  if (text === null) return null
  const [epoch = '', seq = '', ...rest] = text.split(' ')
  return { incarnation: rest.join(' '), epoch: Number(epoch), seq: Number(seq) }
}

/** Flat keys and arguments, in the order that the head of `commit.lua` describes. */
export function encodeCommit(commit: Commit, keys: RedisKeys, seenMs: number): ScriptCall {
  const call: ScriptCall = { keys: [keys.clock], args: [String(seenMs)] }
  const list = <T>(items: readonly T[], encode: (item: T) => [key: string, ...args: string[]]) => {
    call.args.push(String(items.length))
    for (const item of items) {
      const [key, ...args] = encode(item)
      call.keys.push(key)
      call.args.push(...args)
    }
  }
  list(commit.fence ? [commit.fence] : [], fence => [
    keys.fence(fence.key),
    fenceText(fence),
    fenceText({ ...fence, seq: fence.seq + 1 }),
  ])
  list(Object.entries(commit.expect ?? {}), ([key, version]) => [
    keys.document(key),
    String(version),
  ])
  list(commit.add ?? [], add => [keys.counter(add.counter), ...encodeAdd(add)])
  list(commit.put ?? [], ({ key, version, body, ttlMs }) => [
    keys.document(key),
    body === null ? '' : `${integer(version)}\n${body}`,
    ttlMs === undefined ? '' : duration(ttlMs),
  ])
  list(commit.due ?? [], ({ queue, id, at }) => [
    keys.queue(queue),
    id,
    at === null ? '' : finite(at),
  ])
  list(commit.clear ?? [], ({ outbox, id }) => [keys.outbox(outbox), id])
  list(commit.outbox ?? [], ({ outbox, id, body }) => [keys.outbox(outbox), id, body])
  return call
}

function encodeAdd({ field, amount, limit, set, ttlMs }: CounterAdd): string[] {
  const limitText = limit === undefined || limit === Infinity ? '' : finite(limit)
  return [field, finite(amount), limitText, set ? '1' : '0', duration(ttlMs)]
}

/** What `commit.lua` answers. */
export type CommitReply =
  | [now: number, kind: 'ok', detail: null]
  | [now: number, kind: 'lost', stored: string | null]
  | [now: number, kind: 'conflict', at: number]
  | [now: number, kind: 'limit', detail: [at: number, sum: string]]

/** The port's result for an answer to this very commit. */
export function decodeCommit(commit: Commit, reply: CommitReply): CommitResult {
  const [now, kind, detail] = reply
  switch (kind) {
    case 'ok':
      return { kind, now }
    case 'lost':
      return { kind, found: parseFence(detail), now }
    case 'conflict': {
      const key = Object.keys(commit.expect ?? {})[detail]
      assert.ok(key !== undefined, 'a conflict names an expected document')
      return { kind, key, now }
    }
    case 'limit': {
      const add = commit.add?.[detail[0]]
      assert.ok(add, 'a limit names an addition')
      return { kind, counter: add.counter, sum: Number(detail[1]), now }
    }
  }
}

// A number that Redis cannot read would fail in the middle of the script, after the first writes.

function finite(value: number): string {
  assert.ok(Number.isFinite(value), `a finite number is needed, got ${value}`)
  return String(value)
}

function integer(value: number): string {
  assert.ok(Number.isSafeInteger(value) && value >= 0, `a safe integer is needed, got ${value}`)
  return String(value)
}

/** At least 1 ms, because Redis refuses 0; a hundred years stand for more. */
function duration(ms: number): string {
  assert.ok(!Number.isNaN(ms), 'a time to live is a number of ms')
  return String(Math.min(Math.max(1, Math.ceil(ms)), TTL_MAX_MS))
}
