/** One conditional request for a feed; every outcome is a value with fixed words. */
import { ICS_BYTES_MAX, type ParsedIcs, parseIcs } from '#kernel/domain/calendar/parse-ics.ts'
import { isAmbitError } from '#kernel/errors.ts'
import { type HttpSender, type SendAnswer, SendFailure } from '#kernel/ports/http-sender.ts'
import { decodeBody } from '../decode-body.ts'

const TIMEOUT_MS = 20_000

export interface FeedRequest {
  url: string
  calendar: string
  zone: string
  /** Of the last whole answer; `null` asks for everything. */
  etag: string | null
  lastModified: string | null
}

export type FeedAnswer =
  | { kind: 'unchanged' }
  | { kind: 'fetched'; parsed: ParsedIcs; etag: string | null; lastModified: string | null }
  /** `word` is one of a fixed list and nothing that a server said. */
  | { kind: 'failed'; word: string }

/** `webcal:` is `https:` (a scheme that calendars use among themselves). */
export function feedUrl(url: string): string {
  return url.trim().replace(/^webcals?:/i, 'https:')
}

export async function fetchFeed(
  sender: Pick<HttpSender, 'send'>,
  request: FeedRequest,
): Promise<FeedAnswer> {
  try {
    const answer = await sender.send({
      url: feedUrl(request.url),
      method: 'GET',
      headers: headersOf(request),
      body: new Uint8Array(),
      timeoutMs: TIMEOUT_MS,
      answerBytesMax: ICS_BYTES_MAX,
    })
    return await read(answer, request)
  } catch (error) {
    if (error instanceof SendFailure) return { kind: 'failed', word: error.word }
    if (isAmbitError(error)) return { kind: 'failed', word: wordOf(error.code) }
    throw error
  }
}

function headersOf({ etag, lastModified }: FeedRequest): Record<string, string> {
  return {
    accept: 'text/calendar, text/plain;q=0.5, */*;q=0.1',
    'accept-encoding': 'gzip',
    'user-agent': 'Ambit',
    ...(etag === null ? {} : { 'if-none-match': etag }),
    ...(lastModified === null ? {} : { 'if-modified-since': lastModified }),
  }
}

async function read(answer: SendAnswer, request: FeedRequest): Promise<FeedAnswer> {
  const { status, headers } = answer
  if (status === 304) return { kind: 'unchanged' }
  if (status !== 200) return { kind: 'failed', word: statusWord(status) }
  const body = await decodeBody(
    Buffer.from(answer.body ?? []),
    headers['content-encoding'],
    ICS_BYTES_MAX,
  )
  const { calendar, zone } = request
  return {
    kind: 'fetched',
    parsed: parseIcs(body, { calendar, zone }),
    etag: bounded(headers.etag),
    lastModified: bounded(headers['last-modified']),
  }
}

/** What a server asks to have back; a long one is not worth remembering. */
const bounded = (value: string | undefined) => (value && value.length <= 512 ? value : null)

function statusWord(status: number): string {
  if (status >= 300 && status < 400) return 'redirected'
  if (status === 401 || status === 403) return 'not-allowed'
  if (status === 404 || status === 410) return 'not-there'
  if (status === 429) return 'too-many-requests'
  return status >= 500 ? 'server-error' : 'refused'
}

function wordOf(code: string): string {
  if (code === 'too-large') return 'answer-too-large'
  return code === 'unsupported-media-type' ? 'encoding-not-read' : 'not-a-calendar'
}
