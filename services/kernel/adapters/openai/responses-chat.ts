/** The Responses API of OpenAI, Azure OpenAI, and whatever speaks it under another base URL. */
import { APIError, OpenAI } from 'openai'
import { Stream } from 'openai/core/streaming'
import type {
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses'
import {
  type ChatAnswer,
  type ChatItem,
  type ChatModel,
  type ChatRequest,
  MODEL_ATTEMPTS_MAX,
  ModelFailure,
} from '#kernel/ports/chat-model.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import { readResponseStream } from './read-response-stream.ts'

export interface ResponsesChatOptions {
  /** Only what a key is called differs between the two: Azure takes the header `api-key`. */
  provider: 'openai' | 'azure'
  /** Address up to and without `/responses`, such as `https://api.openai.com/v1`. */
  baseUrl: string
  apiKey: string
  model: string
  contextTokensMax: number
  clock: Pick<Clock, 'sleep'>
}

type Send = (
  body: ResponseCreateParamsNonStreaming,
  signal: AbortSignal,
  onText: ((textSoFar: string) => void) | undefined,
) => Promise<Response>

/** Ms before the second attempt, doubling; a `Retry-After` of at most the second is honoured. */
const BACKOFF_MS = 500
const RETRY_AFTER_MS_MAX = 20_000

/** A model over HTTP. Nothing is called before the first `complete`. */
export function createResponsesChat(options: ResponsesChatOptions): ChatModel {
  const { provider, baseUrl, apiKey, model, contextTokensMax, clock } = options
  const client = new OpenAI({
    apiKey,
    baseURL: baseUrl.replace(/\/+$/, ''),
    organization: null,
    project: null,
    // Attempts are counted here, so that the bound holds whatever a server's headers ask for.
    maxRetries: 0,
    logLevel: 'off',
    ...(provider === 'azure' ? { defaultHeaders: { 'api-key': apiKey, authorization: null } } : {}),
    fetchOptions: { redirect: 'manual' },
  })
  const send: Send = async (body, signal, onText) => {
    if (!onText) return client.responses.create(body, { signal })
    const streamed = client.responses.create({ ...body, stream: true }, { signal })
    const answer = await streamed.asResponse()
    // Whoever does not stream answers as ever.
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
    if (!isStream) return (await answer.json()) as Response
    const over = new AbortController()
    return readResponseStream(Stream.fromSSEResponse<ResponseStreamEvent>(answer, over), onText)
  }
  return {
    name: model,
    contextTokensMax,
    async complete(request, signal, onText) {
      const body = bodyOf(model, request)
      for (let attempt = 1; ; attempt += 1) {
        try {
          return answerOf(await send(body, signal, onText))
        } catch (error) {
          if (signal.aborted) throw signal.reason
          if (error instanceof ModelFailure) throw error
          if (attempt >= MODEL_ATTEMPTS_MAX || !isPassing(error)) throw failureOf(error)
          await clock.sleep(retryAfterMs(error) ?? BACKOFF_MS * 2 ** (attempt - 1), signal)
        }
      }
    },
  }
}

function bodyOf(model: string, request: ChatRequest): ResponseCreateParamsNonStreaming {
  const { instructions, items, tools, outputTokensMax } = request
  return {
    model,
    instructions,
    input: items.flatMap(inputOf),
    tools: tools.map(tool => ({ type: 'function' as const, strict: false, ...tool })),
    max_output_tokens: outputTokensMax,
    // The history is ours: nothing has to stay with the provider.
    store: false,
    stream: false,
  }
}

function inputOf(item: ChatItem): ResponseInputItem[] {
  switch (item.role) {
    case 'user':
      return [{ role: 'user', content: item.text }]
    case 'tool':
      return [{ type: 'function_call_output', call_id: item.callId, output: item.text }]
    case 'assistant': {
      const calls = item.toolCalls.map(({ id, name, arguments: text }) => ({
        type: 'function_call' as const,
        call_id: id,
        name,
        arguments: text,
      }))
      return item.text === '' ? calls : [{ role: 'assistant', content: item.text }, ...calls]
    }
  }
}

/** A 2xx whose body is none of the API's answers, or says that generating failed. */
function answerOf(response: Response): ChatAnswer {
  if (!Array.isArray(response?.output)) {
    throw new ModelFailure(
      'Expected an answer of the Responses API, got another body. Check RESPONSES_BASE_URL.',
    )
  }
  const { status, error, incomplete_details: incomplete, usage } = response
  if (status === 'failed' || error) {
    throw new ModelFailure(`The model failed: ${error?.code ?? 'no reason given'}.`)
  }
  const parts = response.output.flatMap(item => (item.type === 'message' ? item.content : []))
  const texts = parts.flatMap(part => (part.type === 'output_text' ? [part.text] : []))
  const refusals = parts.flatMap(part => (part.type === 'refusal' ? [part.refusal] : []))
  return {
    // An answer that does not say `completed` may lack its end.
    isComplete: (status ?? 'completed') === 'completed' && !incomplete,
    text: texts.join(''),
    refusal: refusals.length > 0 ? refusals.join('\n') : null,
    toolCalls: response.output.flatMap(item =>
      item.type === 'function_call'
        ? [{ id: item.call_id, name: item.name, arguments: item.arguments }]
        : [],
    ),
    usage: { inputTokens: usage?.input_tokens ?? 0, outputTokens: usage?.output_tokens ?? 0 },
  }
}

/** No status is a connection that broke, or a body that is no JSON. */
function isPassing(error: unknown): boolean {
  const status = error instanceof APIError ? error.status : undefined
  if (status === undefined) return true
  return status >= 500 || [408, 409, 429].includes(status)
}

function failureOf(cause: unknown): ModelFailure {
  const status = cause instanceof APIError ? cause.status : undefined
  const code = cause instanceof APIError ? cause.code : undefined
  const isTooLong = code === 'context_length_exceeded' || status === 413
  const came = status === undefined ? 'none' : `${status}${code ? ` (${code})` : ''}`
  return new ModelFailure(`Expected an answer of the model, got ${came}.`, {
    reason: isTooLong ? 'context-overflow' : 'model-error',
    status,
    cause,
  })
}

function retryAfterMs(error: unknown): number | undefined {
  const given = error instanceof APIError ? error.headers?.get('retry-after') : undefined
  if (!given || !/^\d+(\.\d+)?$/.test(given.trim())) return undefined
  return Math.min(Number(given) * 1000, RETRY_AFTER_MS_MAX)
}
