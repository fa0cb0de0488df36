/**
 * One process as the simulated store and log see it. After `crash` nobody inside gets an answer
 * any more: calls neither resolve nor reject, as if the code that waits had ended with the process.
 */
import { AmbitError, type ErrorCode } from '../../errors.ts'

/** Faults are planted here; a rejection is what the caller gets. */
export interface MemoryHooks<Call> {
  /** Before the effect: a rejection means it did not happen. */
  before?(call: Call): void | Promise<void>
  /** After the effect: a rejection hides that it happened. */
  after?(call: Call): void | Promise<void>
}

export interface MemoryInstance {
  readonly name: string
  isDead(): boolean
  isStopped(): boolean
  die(): void
  stop(): void
}

export function createMemoryInstance(name: string): MemoryInstance {
  let state: 'alive' | 'stopped' | 'dead' = 'alive'
  return {
    name,
    isDead: () => state === 'dead',
    isStopped: () => state !== 'alive',
    die: () => {
      state = 'dead'
    },
    stop: () => {
      if (state === 'alive') state = 'stopped'
    },
  }
}

/** Runs a synchronous effect between its hooks; rejects with `code` after `stop`. */
export async function callWithHooks<Call, T>(
  at: { instance: MemoryInstance; hooks: MemoryHooks<Call>; code: ErrorCode },
  call: Call,
  effect: () => T,
): Promise<T> {
  const { instance, hooks, code } = at
  return answerAlive(instance, async () => {
    await hooks.before?.(call)
    if (instance.isDead()) return never<T>()
    if (instance.isStopped()) throw new AmbitError(code, `${instance.name} was stopped before`)
    const result = effect()
    await hooks.after?.(call)
    return result
  })
}

/** The answer of `work`, unless the process is dead by then. */
export async function answerAlive<T>(instance: MemoryInstance, work: () => Promise<T>): Promise<T> {
  if (instance.isDead()) return never()
  try {
    const answer = await work()
    return instance.isDead() ? never() : answer
  } catch (error) {
    if (instance.isDead()) return never()
    throw error
  }
}

/** What a dead process waits for. */
function never<T>(): Promise<T> {
  return new Promise<T>(() => {})
}
