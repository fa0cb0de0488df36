/** Slow work is answered with a status link; who follows it sees what came of the work. */
import type { Call, Transport } from './transport.ts'

export interface StatusLink {
  path: string
  /** How long it is asked. */
  patienceMs: number
  signal: AbortSignal | undefined
}

/**
 * Asks a status link, less and less often, until `isOver` takes what it answers. Undefined when the
 * patience is over; rejects with the signal's reason, and with what the link is refused with.
 */
export async function followLink<T>(
  transport: Transport,
  { path, patienceMs, signal }: StatusLink,
  isOver: (answer: unknown) => answer is T,
): Promise<T | undefined> {
  const { clock, backoffMs } = transport
  const call: Call = { method: 'GET', path, ...(signal ? { signal } : {}) }
  const deadline = clock.now() + patienceMs
  for (let asked = 1; clock.now() < deadline; asked += 1) {
    await clock.sleep(backoffMs(asked), signal)
    const answer = await transport.json<unknown>(call)
    if (isOver(answer)) return answer
  }
  return undefined
}
