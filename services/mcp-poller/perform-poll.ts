/**
 * One poll: what the server offers is compared with what was allowed, then the operation is read
 * page by page. Nothing is written here.
 */
import { canonicalJson } from '#kernel/domain/canonical-json.ts'
import type { Allowed, Connector } from '#kernel/domain/connector.ts'
import { EVENT_PREFIX } from '#kernel/domain/mcp-offer.ts'
import type { McpConnections } from '#kernel/host/mcp-connections.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import { type McpConnection, McpFailure } from '#kernel/ports/mcp-client.ts'
import {
  isMemoryWhole,
  type NoveltyRules,
  type Position,
  type Progress,
  startPoll,
  takePage,
} from './rules/novelty.ts'
import type { Observation } from './rules/observation-book.ts'
import type { PollResult } from './rules/poll-result.ts'
import { retryDelay, TRIES_MAX } from './rules/poll-schedule.ts'
import { itemOf, type Page, readPage } from './rules/read-items.ts'
import { driftOf } from './rules/refusal-of.ts'

export interface PollWorld {
  mcp: McpConnections
  clock: Clock
  /** Uniform in 0 to 1. */
  random(): number
  /** Resolves when the connector's rate allows one more call. */
  admit(connector: Connector): Promise<void>
}

export interface PollRequest {
  observation: Observation
  connector: Connector
  allowed: Allowed
  position: Position
  backfill: number
}

export type Polled = PollResult & {
  /** Ms that the server wants us to wait. */
  waitMs?: number
  /** Ms after which the poll should be made again, whatever the interval. */
  soonMs?: number
}

/** Ms within which the registry should have written a hash down. */
const PIN_WITHIN_MS = 1000

/** Failures of the way there; what the server said is said again. */
const TRIED_AGAIN = new Set(['unreachable', 'timeout'])

/** Never rejects: what goes wrong is a failed poll with a fixed word. */
export async function performPoll(world: PollWorld, request: PollRequest): Promise<Polled> {
  for (let tries = 1; ; tries++) {
    const polled = await pollOnce(world, request)
    const isFinal = polled.kind !== 'failed' || !TRIED_AGAIN.has(polled.error)
    if (isFinal || tries >= TRIES_MAX) return polled
    await world.clock.sleep(retryDelay(tries, world.random()))
  }
}

async function pollOnce(world: PollWorld, request: PollRequest): Promise<Polled> {
  const { connector, observation, allowed } = request
  try {
    return await world.mcp.use(connector, async connection => {
      await world.admit(connector)
      const offers = await connection.list(allowed.timeoutMs)
      const drift = driftOf(connector, observation.observe.operation, offers)
      if (drift?.kind === 'unpinned') return { ...drift, soonMs: PIN_WITHIN_MS }
      return drift ?? (await readAll(world, request, connection))
    })
  } catch (error) {
    if (error instanceof McpFailure) {
      return { kind: 'failed', error: error.word, waitMs: error.retryAfterMs }
    }
    // Content that no rule foresaw, such as one that exhausts the stack: a failed poll.
    return { kind: 'failed', error: 'bad-answer' }
  }
}

async function readAll(
  world: PollWorld,
  request: PollRequest,
  connection: McpConnection,
): Promise<Polled> {
  const { observation, position } = request
  if (observation.observe.operation.startsWith(EVENT_PREFIX)) {
    return pollEvents(world, request, connection)
  }
  try {
    return await readPages(world, request, { connection, from: position })
  } catch (error) {
    const isGone = error instanceof McpFailure && GONE.has(error.word) && position.cursor !== null
    if (!isGone) throw error
    return readAgain(world, request, connection)
  }
}

/** How servers answer a cursor that they do not know any more. */
const GONE = new Set(['refused', 'operation-failed'])

/**
 * The cursor may be gone. Where the memory of identities is whole, everything is read again and
 * only what was never seen is news; else it is followed from now, and the gap is told.
 */
async function readAgain(
  world: PollWorld,
  request: PollRequest,
  connection: McpConnection,
): Promise<Polled> {
  const isWhole = isMemoryWhole(request.position, rulesOf(request))
  const from = { ...request.position, cursor: null, isPositioned: isWhole }
  const unfilled = { ...request, backfill: 0 }
  const polled = await readPages(world, unfilled, { connection, from })
  return polled.kind === 'answered' && !isWhole ? { ...polled, hasGap: true } : polled
}

function rulesOf({ observation, allowed, backfill }: PollRequest): NoveltyRules {
  const { watch, cursorArgument } = observation.observe
  return { watch, backfill, maxItems: allowed.maxItems, hasCursor: cursorArgument !== undefined }
}

async function readPages(
  world: PollWorld,
  request: PollRequest,
  { connection, from }: { connection: McpConnection; from: Position },
): Promise<Polled> {
  const { observation, allowed, connector } = request
  const { observe } = observation
  let progress = startPoll(from)
  while (progress.hasMore) {
    await world.admit(connector)
    const answer = await connection.call({
      operation: observe.operation,
      arguments: argumentsAt(observe, progress.position.cursor),
      ...{ timeoutMs: allowed.timeoutMs, maxBytes: allowed.maxBytes },
    })
    const page = readPage(answer, observe, allowed)
    if (typeof page === 'string') return { kind: 'failed', error: page }
    progress = takePage(progress, page, rulesOf(request))
  }
  return answered(progress)
}

function answered({ position, fresh }: Progress): Polled {
  return { kind: 'answered', position, fresh }
}

function argumentsAt(
  { arguments: given, cursorArgument }: Observation['observe'],
  cursor: string | null,
): Record<string, unknown> {
  if (cursorArgument === undefined || cursor === null) return given
  return { ...given, [cursorArgument]: JSON.parse(cursor) as unknown }
}

/** MCP Events in poll mode: the server keeps the place, `null` is now. */
async function pollEvents(
  world: PollWorld,
  request: PollRequest,
  connection: McpConnection,
): Promise<Polled> {
  const { observation, allowed, connector } = request
  const rules = { ...rulesOf(request), hasCursor: true, backfill: 0 }
  const times = new Map<string, string | undefined>()
  let progress = startPoll(request.position)
  let isTruncated = false
  let waitMs: number | undefined
  while (progress.hasMore) {
    await world.admit(connector)
    const { cursor } = progress.position
    const found = await connection.pollEvents({
      ...{ operation: observation.observe.operation, arguments: observation.observe.arguments },
      ...{ timeoutMs: allowed.timeoutMs, maxBytes: allowed.maxBytes },
      ...{ cursor: cursor === null ? null : (JSON.parse(cursor) as string) },
      maxEvents: allowed.maxItems,
    })
    const page = pageOf(found, allowed)
    if (typeof page === 'string') return { kind: 'failed', error: page }
    for (const { eventId, timestamp } of found.events) times.set(eventId, timestamp)
    isTruncated ||= found.truncated && request.position.cursor !== null
    waitMs = found.nextPollMs ?? undefined
    const next = takePage(progress, page, rules)
    // A server that has more says so; its cursor is what tells now from then.
    progress = { ...next, hasMore: next.hasMore && found.hasMore }
    progress.position.isPositioned ||= progress.position.cursor !== null
  }
  const fresh = progress.fresh.map(each => ({
    ...each,
    time: timeOf(times.get(each.item.identity)),
  }))
  return { kind: 'answered', position: progress.position, fresh, hasGap: isTruncated, waitMs }
}

function pageOf(
  found: Awaited<ReturnType<McpConnection['pollEvents']>>,
  { maxItems }: Allowed,
): Page | 'too-many-items' | 'item-too-large' {
  if (found.events.length > maxItems) return 'too-many-items'
  const items = found.events.map(({ eventId, data }) => itemOf(eventId, data))
  const cursor = found.cursor === null ? null : canonicalJson(found.cursor)
  const whole = items.flatMap(item => (item ? [item] : []))
  return whole.length < items.length ? 'item-too-large' : { items: whole, cursor }
}

/** When it occurred, as far as the server wrote an instant. */
function timeOf(text: string | undefined): string | undefined {
  const at = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}
