/** Producers: an open loop of events over all lanes, sent again until they are accepted. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster, HttpAnswer } from '#test/support/cluster.ts'
import { LANES, type Lane, typeOf } from './lanes.ts'
import type { Ledger, SentEvent } from './ledger.ts'

export interface Load {
  /** Ends the open loop; resolves when every event was accepted or given up. */
  stop(): Promise<void>
  /** From now on nothing is sent again. */
  abandon(): void
  /** Sends that were not accepted: answers by status, 0 where nothing came back. */
  refusals(): Record<number, number>
  /** 503 answers that named no `Retry-After`. */
  rude(): number
}

/** An event is given up after this long without a 2xx; it may come out once all the same. */
const GIVE_UP_MS = 45_000
const AGAIN_MS = 400
const SEND_TIMEOUT_MS = 8000
/** Weights of the lanes, in order of `LANES`. */
const TURNS = [0, 1, 2, 3, 0, 4, 1, 5, 2, 3, 4, 5, 6, 0, 1, 2]

interface Self {
  cluster: Cluster
  ledger: Ledger
  refusals: Record<number, number>
  rude: number
  isAbandoned: boolean
}

/** Starts sending `rate` events a second; ids start with `run`. */
export function startLoad(
  cluster: Cluster,
  ledger: Ledger,
  options: { run: string; rate: number },
): Load {
  const self: Self = { cluster, ledger, refusals: {}, rude: 0, isAbandoned: false }
  const stopping = new AbortController()
  const sending = new Set<Promise<void>>()
  const loop = async () => {
    const begin = performance.now()
    for (let n = 0; !stopping.signal.aborted; n++) {
      const wait = begin + (n * 1000) / options.rate - performance.now()
      if (wait > 1) await sleep(wait, undefined, { signal: stopping.signal }).catch(() => {})
      const lane = LANES[TURNS[n % TURNS.length] ?? 0] as Lane
      const sent = sendUntilAccepted(self, eventOf(lane, options.run, n), n)
      sending.add(sent)
      void sent.finally(() => sending.delete(sent))
    }
  }
  const looping = loop()
  return {
    refusals: () => self.refusals,
    rude: () => self.rude,
    abandon() {
      self.isAbandoned = true
    },
    async stop() {
      stopping.abort()
      await looping
      await Promise.all(sending)
    },
  }
}

function eventOf(lane: Lane, run: string, n: number): SentEvent & { subject: string } {
  const id = `${run}-${n}`
  const dedupKey = lane.promised === 'one-per-key' ? `${run}-key-${Math.floor(n / 32)}` : undefined
  return { id, source: `/chaos/${n % 24}`, lane, dedupKey, subject: `subject-${n % 3}` }
}

async function sendUntilAccepted(
  self: Self,
  event: SentEvent & { subject: string },
  n: number,
): Promise<void> {
  const { ledger } = self
  ledger.send(event)
  const deadline = performance.now() + GIVE_UP_MS
  while (performance.now() < deadline && !self.isAbandoned) {
    const status = await sendOnce(self, event)
    if (status === 202) {
      ledger.accept(event.source, event.id, Date.now())
      // Some producers send again what was accepted: one candidate, one more repeat.
      if (n % 9 === 0) await sendOnce(self, event)
      return
    }
    self.refusals[status] = (self.refusals[status] ?? 0) + 1
    await sleep(AGAIN_MS)
  }
}

async function sendOnce(
  self: Self,
  { id, source, lane, dedupKey, subject }: SentEvent & { subject: string },
): Promise<number> {
  const body = {
    ...{ specversion: '1.0', id, source, type: typeOf(lane.name), subject },
    ...(dedupKey ? { dedupkey: dedupKey } : {}),
    data: { order: id, total: 129.9 },
  }
  const headers = { 'content-type': 'application/cloudevents+json' }
  const options = { body, headers, timeoutMs: SEND_TIMEOUT_MS }
  const answer = await self.cluster.call('ingest', '/v1/events', options).catch(nothing)
  if (answer.status === 503 && answer.retryAfter === null) self.rude += 1
  return answer.status
}

/** The request may have taken effect; nobody knows. */
function nothing(): HttpAnswer {
  return { status: 0, retryAfter: null, body: null }
}
