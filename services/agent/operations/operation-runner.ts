/**
 * Does the work of operations in the background, with retries, and asks for one closing when a
 * batch has drained. It may be stopped anywhere and started again: what is durable says where it
 * was, and the outside sees one key per item.
 */
import type { Tool } from '../tools/tool.ts'
import { type HttpCall, judgeStatus } from './http-call.ts'
import {
  finished,
  isOpen,
  type Operation,
  type OperationOutcome,
  started,
  willRetry,
} from './operation.ts'
import type { OperationStore } from './operation-store.ts'
import { drainedBatches } from './pending-updates.ts'

/** Longest ms between two attempts. */
const BACKOFF_MS_MAX = 60_000
/** Ms before something that is away is tried again, doubled up to the longest. */
const AWAY_MS = 1000

export interface OperationRunnerWorld {
  store: OperationStore
  findTool(name: string): Tool | undefined
  http: HttpCall
  clock: { date(): number; sleep(ms: number, signal?: AbortSignal): Promise<void> }
  /**
   * Puts a follow-up into the mailbox; the same batch and name ask for one. Resolves also when it
   * is refused for good: the next turn then takes the results. Rejects when it may be tried again.
   */
  askClosing(operation: Operation, name: string): Promise<void>
  onError(error: unknown): void
}

export interface OperationRunner {
  /** Takes an operation up where it stands; one that is in hand already is left alone. */
  take(operation: Operation): void
  /** Leaves off all that is in hand; nothing is lost. */
  stop(): Promise<void>
}

/** One process's share of the work; which operations are its own is the caller's to know. */
export function createOperationRunner(world: OperationRunnerWorld): OperationRunner {
  const inHand = new Map<string, Promise<void>>()
  const stopping = new AbortController()
  const { signal } = stopping
  const hold = (id: string, work: () => Promise<void>) => {
    if (signal.aborted || inHand.has(id)) return
    // It is in hand before it begins: its own writes come back here as operations to take.
    const running = Promise.resolve()
      .then(() => untilDone(world, work, signal))
      .finally(() => inHand.delete(id))
    inHand.set(id, running)
  }
  return {
    take(operation) {
      if (isOpen(operation)) hold(operation.id, () => work(world, operation, signal))
      else if (operation.delivery === 'queued') {
        hold(`closing/${operation.batch}`, () => close(world, operation))
      }
    },
    async stop() {
      stopping.abort(new Error('The runner stops.'))
      await Promise.all(inHand.values())
    },
  }
}

/** What cannot be kept or asked for now is tried again: nobody else would take it up. */
async function untilDone(
  { clock, onError }: OperationRunnerWorld,
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures += 1) {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted) return
      onError(error)
      const pauseMs = Math.min(AWAY_MS * 2 ** Math.min(failures, 10), BACKOFF_MS_MAX)
      await clock.sleep(pauseMs, signal).catch(() => undefined)
    }
  }
}

async function work(world: OperationRunnerWorld, given: Operation, signal: AbortSignal) {
  const { store, clock } = world
  const spec = world.findTool(given.tool)?.operation
  let operation: Operation | undefined = given
  while (operation && isOpen(operation)) {
    operation = await store.change(operation, current => started(current, clock.date()))
    if (!operation) break
    const outcome: OperationOutcome = spec
      ? await attempt(world, operation, signal)
      : { ok: false, why: 'tool-removed' }
    const mayPass = !outcome.ok && outcome.why !== 'refused' && outcome.why !== 'tool-removed'
    if (mayPass && spec && operation.attempts < spec.retry.maxAttempts) {
      operation = await store.change(operation, current => willRetry(current, clock.date()))
      const pauseMs = spec.retry.backoffMs * 2 ** ((operation?.attempts ?? 1) - 1)
      await clock.sleep(Math.min(pauseMs, BACKOFF_MS_MAX), signal)
    } else {
      operation = await store.change(operation, current => finished(current, outcome, clock.date()))
    }
  }
  await close(world, given)
}

/** One request under the operation's key. Rejects only when the runner stops. */
async function attempt(
  { http, findTool }: OperationRunnerWorld,
  { tool, item, idempotencyKey }: Operation,
  signal: AbortSignal,
): Promise<OperationOutcome> {
  const request = findTool(tool)?.operation?.request(item)
  if (!request) return { ok: false, why: 'tool-removed' }
  const headers = { ...request.headers, 'idempotency-key': idempotencyKey }
  const answer = await http({ ...request, headers }, signal)
  if (signal.aborted) throw signal.reason
  return typeof answer === 'string' ? { ok: false, why: answer } : judgeStatus(answer.status)
}

/** Asks for the closing once the whole batch is over. */
async function close(world: OperationRunnerWorld, operation: Operation) {
  const all = await world.store.ofSession(operation)
  const drained = drainedBatches(all).find(({ batch }) => batch === operation.batch)
  // A batch that has grown since it was closed is asked for anew.
  if (drained) await world.askClosing(operation, String(drained.size))
}
