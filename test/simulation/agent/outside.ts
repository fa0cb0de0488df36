/**
 * The service that tools reach. It does a thing once per idempotency key, and remembers every
 * request; it refuses, fails, answers late, or does the work and loses the answer (F17).
 */
import { type AgentSeat, heard, whenAborted } from './agent-sim.ts'

/** `fetch` of one process towards the outside. */
export function outsideFetch(seat: AgentSeat): typeof fetch {
  const { sim, random } = seat
  const { faults, clock } = sim.world
  return async (_url, init) => {
    const headers = init?.headers as Record<string, string>
    const key = headers['idempotency-key'] ?? 'none'
    const body = String(init?.body)
    const serve = async () => {
      await clock.sleep(random.between(1, 900))
      if (body.includes('refuse')) return take(seat, { key, body }, 422)
      if (faults.strikes('F17', 0.08)) return take(seat, { key, body }, 503)
      if (faults.strikes('F17', 0.05)) await clock.sleep(random.between(2000, 14_000))
      take(seat, { key, body }, 200)
      if (!faults.strikes('F17', 0.06)) return { status: 200 }
      if (random.chance(0.5)) await clock.sleep(20_000)
      throw new TypeError('fetch failed')
    }
    const answer = await heard(seat, () => Promise.race([serve(), whenAborted(init?.signal)]))
    return { ...answer, body: null } as Response
  }
}

function take(
  { sim }: AgentSeat,
  { key, body }: { key: string; body: string },
  status: number,
): { status: number } {
  sim.facts.requests.push({ key, body, isEffect: status === 200 })
  return { status }
}
