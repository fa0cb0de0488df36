/** Server-sent events (WHATWG HTML, section 9.2) over fetch, with reconnection. */
import type { StreamEvent } from './api.ts'
import { isClientError, isTransient } from './client-error.ts'
import type { Transport } from './transport.ts'

export interface StreamOptions {
  signal?: AbortSignal
  /** Go on after this event. */
  lastEventId?: string
  /** Told each time the connection was lost; the iteration goes on. */
  onReconnect?(error: unknown): void
}

/** Longest line and event that are read; a server that sends more is none of ours. */
const CHARACTERS_MAX = 4 * 1024 * 1024

/**
 * Yields what happens until the signal aborts. A broken connection is made again after the
 * server's `retry` or a backoff, from the last event seen; a refusal (401, 403, 404) rejects.
 */
export async function* streamEvents(
  transport: Transport,
  path: string,
  options: StreamOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  const { signal, onReconnect } = options
  let { lastEventId } = options
  let failures = 0
  let retryMs: number | undefined
  while (!signal?.aborted) {
    try {
      const headers = { accept: 'text/event-stream', ...lastEventIdHeader(lastEventId) }
      const response = await transport.open({ method: 'GET', path, headers, signal })
      for await (const field of readEventStream(response.body)) {
        failures = 0
        if ('retryMs' in field) retryMs = field.retryMs
        else {
          lastEventId = field.id ?? lastEventId
          // The server's word is taken for the form of the data, as with every answer.
          yield { type: field.type, data: field.data } as StreamEvent
        }
      }
      onReconnect?.(undefined)
    } catch (error) {
      if (signal?.aborted) return
      if (isClientError(error) && !isTransient(error)) throw error
      onReconnect?.(error)
    }
    failures += 1
    const waitMs = Math.max(retryMs ?? 0, transport.backoffMs(failures))
    await transport.clock.sleep(waitMs, signal).catch(() => undefined)
  }
}

function lastEventIdHeader(id: string | undefined): Record<string, string> {
  return id === undefined ? {} : { 'last-event-id': id }
}

/** Splits a body into events and `retry` fields; an unfinished last event is dropped. */
export async function* readEventStream(
  body: ReadableStream<Uint8Array> | null,
): AsyncGenerator<SentEvent | { retryMs: number }, void, undefined> {
  if (!body) return
  let pending: PendingEvent = { data: [] }
  for await (const line of linesOf(body)) {
    if (line === '') {
      if (pending.data.length > 0) yield finished(pending)
      pending = { data: [], id: pending.id }
      continue
    }
    const retryMs = takeField(pending, line)
    if (retryMs !== undefined) yield { retryMs }
  }
}

interface SentEvent {
  type: string
  id?: string
  data: unknown
}

interface PendingEvent {
  type?: string
  id?: string
  data: string[]
}

/** Puts one line into the pending event; answers the ms of a `retry` field. */
function takeField(pending: PendingEvent, line: string): number | undefined {
  const colon = line.indexOf(':')
  if (colon === 0) return undefined
  const name = colon < 0 ? line : line.slice(0, colon)
  const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
  if (name === 'event') pending.type = value
  if (name === 'id' && !value.includes('\0')) pending.id = value
  if (name === 'data') pending.data.push(value)
  return name === 'retry' && /^\d+$/.test(value) ? Number(value) : undefined
}

function finished({ type, id, data }: PendingEvent): SentEvent {
  const text = data.join('\n')
  return { type: type || 'message', ...(id ? { id } : {}), data: jsonOrText(text) }
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Lines end with LF, CR LF or CR. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true })
    if (rest.length > CHARACTERS_MAX) throw new Error('A line of the stream has no end.')
    // A CR at the very end may be the first half of CR LF.
    const complete = rest.endsWith('\r') ? rest.slice(0, -1) : rest
    const lines = complete.split(/\r\n|\n|\r/)
    rest = (lines.pop() ?? '') + rest.slice(complete.length)
    yield* lines
  }
}
