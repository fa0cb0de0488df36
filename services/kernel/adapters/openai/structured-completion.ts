/**
 * StructuredModel over the Responses API of OpenAI and of servers that speak it. The library's own
 * retries are off: whoever asks counts attempts, so they happen in one place.
 */
import OpenAI, { APIConnectionError, APIConnectionTimeoutError, APIError } from 'openai'
import type { Response as ModelResponse } from 'openai/resources/responses/responses'
import type {
  ModelFailure,
  ModelUsage,
  StructuredModel,
  StructuredRequest,
  StructuredResult,
} from '#kernel/ports/model.ts'
import { boundedFetch } from './bounded-fetch.ts'

export interface OpenAiSettings {
  /** Up to the version: `https://api.openai.com/v1`. */
  baseUrl: string
  apiKey: string
  /** Only what a key is called differs: Azure takes the header `api-key`. Default `openai`. */
  provider?: 'openai' | 'azure'
}

const NOTHING: ModelUsage = { inputTokens: 0, outputTokens: 0 }

/** Creates the adapter; see the port for its promises. */
export function createOpenAiStructuredModel(settings: OpenAiSettings): StructuredModel {
  const { baseUrl, apiKey, provider } = settings
  const client = new OpenAI({
    baseURL: baseUrl,
    apiKey,
    organization: null,
    project: null,
    maxRetries: 0,
    logLevel: 'off',
    fetch: boundedFetch,
    ...(provider === 'azure' ? { defaultHeaders: { 'api-key': apiKey, authorization: null } } : {}),
  })
  /** Models that said that they have no temperature; they are asked without it from then on. */
  const withoutTemperature = new Set<string>()
  return {
    async complete(request) {
      const timeout = AbortSignal.timeout(request.timeoutMs)
      const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout
      try {
        const body = bodyOf(request, !withoutTemperature.has(request.model))
        const response = await client.responses.create(body, {
          signal,
          timeout: request.timeoutMs,
          maxRetries: 0,
        })
        return readResponse(response)
      } catch (error) {
        request.signal?.throwIfAborted()
        if (timeout.aborted) return failed('timeout', { isOutage: true, mayRetry: true })
        if (isTemperatureRefused(error) && !withoutTemperature.has(request.model)) {
          withoutTemperature.add(request.model)
          return failed('request-refused', { isOutage: false, mayRetry: true })
        }
        return failureOf(error)
      }
    },
  }
}

function bodyOf(request: StructuredRequest, hasTemperature: boolean) {
  const { model, instructions, input, schema, outputTokensMax } = request
  return {
    model,
    instructions,
    input,
    text: { format: { type: 'json_schema' as const, strict: true, ...schema } },
    max_output_tokens: outputTokensMax,
    store: false,
    ...(hasTemperature ? { temperature: 0 } : {}),
  }
}

/**
 * Servers that only look like the API answer anything: every field is checked before it is read.
 */
function readResponse(response: ModelResponse): StructuredResult {
  if (!Array.isArray(response?.output)) {
    return failed('not-the-api', { isOutage: true, mayRetry: false })
  }
  const usage = usageOf(response)
  const { status } = response
  if (status === 'incomplete') return failed('cut-off', { usage, mayRetry: true })
  if (status === 'failed' || response.error) {
    const isLimit = response.error?.code === 'rate_limit_exceeded'
    const reason = isLimit ? 'rate-limited' : 'server-error'
    return failed(reason, { usage, isOutage: true, mayRetry: true })
  }
  if (status !== undefined && status !== 'completed') {
    return failed('cut-off', { usage, mayRetry: true })
  }
  return readOutput(response, usage)
}

function readOutput({ output }: ModelResponse, usage: ModelUsage): StructuredResult {
  const texts: string[] = []
  for (const item of output) {
    if (item?.type !== 'message' || !Array.isArray(item.content)) continue
    if (item.status === 'incomplete') return failed('cut-off', { usage, mayRetry: true })
    for (const part of item.content) {
      if (part?.type === 'refusal') return failed('refused', { usage, mayRetry: true })
      if (part?.type === 'output_text' && typeof part.text === 'string') texts.push(part.text)
    }
  }
  const filled = texts.filter(text => text.trim() !== '')
  const [text, ...others] = filled
  if (text === undefined) return failed('empty', { usage, mayRetry: true })
  if (others.length > 0) return failed('several-answers', { usage, mayRetry: true })
  return { kind: 'answer', text, usage }
}

function usageOf({ usage }: ModelResponse): ModelUsage {
  return {
    inputTokens: countOf(usage?.input_tokens),
    outputTokens: countOf(usage?.output_tokens),
  }
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

function failureOf(error: unknown): StructuredResult {
  if (error instanceof APIConnectionTimeoutError) {
    return failed('timeout', { isOutage: true, mayRetry: true })
  }
  if (error instanceof APIConnectionError) {
    return failed('connection-failed', { isOutage: true, mayRetry: true })
  }
  if (!(error instanceof APIError) || error.status === undefined) {
    // A body that is no JSON, or that ended early.
    return failed('not-the-api', { isOutage: true, mayRetry: true })
  }
  const { status } = error
  const retryAfterMs = retryAfterOf(error.headers)
  if (status === 429) {
    return failed('rate-limited', { isOutage: true, mayRetry: true, retryAfterMs })
  }
  if (status === 408 || status === 409 || status >= 500) {
    return failed('server-error', { isOutage: true, mayRetry: true, retryAfterMs })
  }
  // A wrong key or model name fails every call; other refusals may be about this request alone,
  // such as a content filter, and say nothing about the server.
  const isOutage = status === 401 || status === 403 || status === 404
  return failed('request-refused', { isOutage, mayRetry: false })
}

/**
 * `Retry-After` as seconds or a date, `retry-after-ms` as some servers send it; at most a minute.
 */
function retryAfterOf(headers: Headers | undefined): number | undefined {
  const ms = Number(headers?.get('retry-after-ms') ?? Number.NaN)
  const text = headers?.get('retry-after') ?? ''
  const seconds = text === '' ? Number.NaN : Number(text)
  const until = Date.parse(text) - Date.now()
  const found = [ms, seconds * 1000, until].find(Number.isFinite)
  return found === undefined ? undefined : Math.min(Math.max(found, 0), 60_000)
}

function isTemperatureRefused(error: unknown): boolean {
  if (!(error instanceof APIError) || error.status !== 400) return false
  return error.param === 'temperature' || /\btemperature\b/.test(error.message)
}

function failed(
  reason: ModelFailure,
  facts: {
    isOutage?: boolean
    mayRetry: boolean
    retryAfterMs?: number | undefined
    usage?: ModelUsage
  },
): StructuredResult {
  const { isOutage = false, mayRetry, retryAfterMs, usage = NOTHING } = facts
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs }
  return { kind: 'failed', reason, isOutage, mayRetry, ...wait, usage }
}
