/** Foreign errors become one of our words, here and nowhere else. */
import {
  OAuthError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { SendFailure, type SendFailureWord } from '#kernel/ports/http-sender.ts'
import { McpFailure, type McpFailureWord } from '#kernel/ports/mcp-client.ts'

const OF_SENDER: Record<SendFailureWord, McpFailureWord> = {
  'not-a-url': 'address-refused',
  'not-https': 'address-refused',
  'credentials-in-url': 'address-refused',
  'address-refused': 'address-refused',
  timeout: 'timeout',
  'connection-failed': 'unreachable',
  'answer-refused': 'too-large',
  'answer-too-large': 'too-large',
}

const OF_SDK: Partial<Record<string, McpFailureWord>> = {
  [SdkErrorCode.RequestTimeout]: 'timeout',
  [SdkErrorCode.InvalidResult]: 'bad-answer',
  [SdkErrorCode.UnsupportedResultType]: 'bad-answer',
  [SdkErrorCode.ListPaginationExceeded]: 'too-large',
  [SdkErrorCode.CapabilityNotSupported]: 'refused',
}

/** Never throws; `retryAfterMs` is what the newest answer's header asked for. */
export function mcpFailureOf(error: unknown, retryAfterMs?: number): McpFailure {
  for (let each = error, depth = 0; each instanceof Error && depth < 5; depth++) {
    const word = wordOf(each)
    if (each instanceof McpFailure) return each
    if (word) return new McpFailure(word, word === 'throttled' ? retryAfterMs : undefined)
    each = each.cause
  }
  return new McpFailure('unreachable')
}

function wordOf(error: Error): McpFailureWord | undefined {
  if (error instanceof SendFailure) return OF_SENDER[error.word]
  if (error instanceof UnauthorizedError || error instanceof OAuthError) return 'unauthorised'
  if (error instanceof SdkHttpError) return wordOfStatus(error.status)
  if (error instanceof ProtocolError) return wordOfCode(error.code)
  if (error instanceof SdkError && !error.cause) return OF_SDK[error.code] ?? 'unreachable'
  if (error instanceof SyntaxError || error.name === 'ZodError') return 'bad-answer'
  if (error.name === 'TimeoutError') return 'timeout'
  if (isOversize(error)) return 'too-large'
  return undefined
}

/** The library's own words for a message above its buffer. */
export function isOversize(error: Error): boolean {
  if (error instanceof SendFailure) return error.word === 'answer-refused'
  return /exceeded maximum size/.test(error.message)
}

function wordOfStatus(status: number): McpFailureWord {
  if (status === 401 || status === 403) return 'unauthorised'
  if (status === 429 || status === 503) return 'throttled'
  // 404 is a session that a restarted server does not know any more.
  if (status === 404 || status >= 500) return 'unreachable'
  return 'refused'
}

/** JSON-RPC 2.0 section 5.1: the request's fault, or an error while it was worked on. */
function wordOfCode(code: number): McpFailureWord {
  return [-32_600, -32_601, -32_602].includes(code) ? 'refused' : 'operation-failed'
}

/** Most ms that a server may put us off. */
const RETRY_AFTER_MAX_MS = 3_600_000

/** `Retry-After` in ms, in either form of RFC 9110 section 10.2.3. */
export function retryAfterOf(headers: Headers, nowMs: number): number | undefined {
  const text = headers.get('retry-after')?.trim()
  if (!text) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS)
}
