/**
 * The API as an agent's process reaches it: what a route does after it has read its request, with
 * requests and answers that get lost on the way.
 */
import { parseWith } from '#kernel/domain/parse-with.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { isAmbitError } from '#kernel/errors.ts'
import { problemAnswer, toProblem } from '#kernel/host/http-app.ts'
import type { ClaimedItem } from '#services/mailbox-dispatcher/claim-messages.ts'
import { runResultSchema } from '#services/mailbox-dispatcher/run-result.ts'
import type { SeenSettle } from '../facts.ts'
import { type AgentSeat, heard, TENANT, whenAborted } from './agent-sim.ts'
import { messagesIn } from './messages-in.ts'

interface Asked {
  path: string
  // A request body, as JSON gives it.
  // biome-ignore lint/suspicious/noExplicitAny: routes know their own bodies.
  body: any
  key: string | undefined
  signal: AbortSignal
}

/** `fetch` of one process towards the API. */
export function apiFetch(seat: AgentSeat): typeof fetch {
  const { sim, random } = seat
  const { faults, clock, latency } = sim.world
  const expiry = new Map<string, number>()
  const lost = async () => {
    if (!faults.strikes('lost-answer', 0.015)) return
    if (random.chance(0.5)) await clock.sleep(60_000)
    throw new TypeError('fetch failed')
  }
  return async (url, init) => {
    const { pathname, search } = new URL(String(url))
    const headers = (init?.headers ?? {}) as Record<string, string>
    const signal = init?.signal ?? new AbortController().signal
    const asked: Asked = {
      ...{ path: `${init?.method} ${pathname}${search}`, signal },
      body: init?.body ? JSON.parse(String(init.body)) : undefined,
      key: headers['idempotency-key'],
    }
    const serve = async () => {
      await latency()
      await lost()
      const answer = await answerTo(seat, asked, expiry)
      await latency()
      await lost()
      return answer
    }
    return heard(seat, () => Promise.race([serve(), whenAborted(signal)]))
  }
}

async function answerTo(
  seat: AgentSeat,
  asked: Asked,
  expiry: Map<string, number>,
): Promise<Response> {
  try {
    return response(200, await route(seat, asked, expiry))
  } catch (error) {
    const failure = error as Error
    if (!isAmbitError(error)) seat.sim.facts.surprises.push(`${asked.path}: ${failure.stack}`)
    const { status, body, headers } = problemAnswer(toProblem(failure), 'simulated')
    return response(status, body, headers)
  }
}

/** A real one reads its body through streams, which no virtual clock drives. */
function response(status: number, body: unknown, headers?: Record<string, string>): Response {
  const text = JSON.stringify(body)
  const answer = { ok: status < 300, status, headers: new Headers(headers) }
  return { ...answer, text: async () => text } as Response
}

async function route(seat: AgentSeat, asked: Asked, expiry: Map<string, number>): Promise<unknown> {
  const { sim, agent, random } = seat
  const { path, body } = asked
  if (path.endsWith('/claim')) return { items: await claim(seat, asked, expiry) }
  if (path.startsWith('GET /v1/agents/')) return { id: agent }
  if (path.startsWith('GET ')) {
    const state = /state=(\w+)/.exec(path)?.[1] ?? ''
    return { items: messagesIn(sim.world, { agent, state }, random.below(400)) }
  }
  if (path.endsWith('/continuations')) {
    const by: Principal = { tenant: TENANT, kind: 'agent', id: agent, roles: [] }
    const target = path.split('/')[3] ?? ''
    return sim.world.call('dispatcher', doors =>
      doors.mailbox!.continueSession(by, target, { ...body, requestId: asked.key }),
    )
  }
  const [, , , id = '', verb = ''] = path.split('/')
  return underLease(seat, { id, verb, body }, expiry)
}

async function claim(
  { sim, agent, process }: AgentSeat,
  { body, signal }: Asked,
  expiry: Map<string, number>,
): Promise<ClaimedItem[]> {
  const { world, facts } = sim
  const items = await world.call('dispatcher', doors =>
    doors.mailbox!.claim(TENANT, agent, body, signal),
  )
  for (const { lease, message } of items) {
    const { token, handle } = lease
    expiry.set(handle, Date.parse(lease.expiresAt))
    const seen = { tenant: TENANT, agent, executor: process.name, token, handle }
    const storeAt = world.storeNow()
    facts.claims.push({ ...seen, messageId: message.id, storeAt, at: world.clock.now() })
  }
  return items
}

interface LeaseCall {
  id: string
  verb: string
  // biome-ignore lint/suspicious/noExplicitAny: see above.
  body: any
}

async function underLease(
  { sim }: AgentSeat,
  { id, verb, body }: LeaseCall,
  expiry: Map<string, number>,
): Promise<unknown> {
  const { world, facts } = sim
  const { handle } = body
  const calledAt = world.storeNow()
  const expiresAt = expiry.get(handle) ?? Number.POSITIVE_INFINITY
  const note = (answer: SeenSettle['answer']) => {
    const op = verb === 'fail' ? 'fail' : 'complete'
    const at = world.clock.now()
    const own = { tenant: TENANT, messageId: id, handle, op, answer } as const
    facts.settles.push({ ...own, calledAt, expiresAt, at })
  }
  const isEnd = ['complete', 'fail', 'ask'].includes(verb)
  if (isEnd && body.result) parseWith(runResultSchema, body.result)
  // Until it is answered, nothing is known about the end of the lease.
  if (verb === 'renew') expiry.set(handle, Number.POSITIVE_INFINITY)
  try {
    const answer = await world.call('dispatcher', ({ mailbox }) => {
      const calls: Record<string, () => Promise<unknown>> = {
        renew: () => mailbox!.renew(TENANT, id, body),
        complete: () => mailbox!.complete(TENANT, id, body),
        fail: () => mailbox!.fail(TENANT, id, body),
        authorize: () => mailbox!.authorize(TENANT, id, body),
        ask: () => mailbox!.ask(TENANT, id, body),
      }
      return calls[verb]!()
    })
    const { isRepeat, lease, allowed } = answer as {
      isRepeat?: boolean
      lease?: { expiresAt: string }
      allowed?: boolean
    }
    if (lease) expiry.set(handle, Date.parse(lease.expiresAt))
    if (isEnd) note(isRepeat ? 'repeat' : 'ok')
    const permit = { messageId: id, handle, tool: String(body.effect?.tool), calledAt }
    if (allowed) facts.permits.push(permit)
    return answer
  } catch (error) {
    if (isEnd && isAmbitError(error) && error.code === 'stale-lease') note('stale')
    throw error
  }
}
