/**
 * A server that speaks the wire format of `POST /v1/responses`: answers, refusals, answers cut off,
 * errors, and bodies that drip. What it says is the test's script.
 */
import type { ServerResponse } from 'node:http'
import { type ScriptedAnswer, type ScriptedServer, scriptedServer } from './scripted-server.ts'

/** The parts of a request that tests look at. */
export interface AskedModel {
  model: string
  instructions: string
  input: string
  temperature?: number
  max_output_tokens: number
  text: { format: { type: string; name: string; strict: boolean; schema: unknown } }
  tools?: unknown
}

export interface ModelServer extends Omit<ScriptedServer, 'close'> {
  /** With `/v1`, as it is configured. */
  baseUrl: string
  asked: ScriptedServer['asked']
  /** Bodies of all requests so far. */
  calls(): AskedModel[]
  close(): Promise<void>
}

export type ModelScript = (
  asked: AskedModel,
  nth: number,
) => ScriptedAnswer | Promise<ScriptedAnswer>

/** Starts a server; `script` is asked once per request, `nth` counts from 1. */
export async function modelServer(script: ModelScript): Promise<ModelServer> {
  let nth = 0
  const server = await scriptedServer(request => {
    if (request.method !== 'POST' || request.path !== '/v1/responses') {
      return modelError(404, 'not_found', `No route ${request.method} ${request.path}`)
    }
    nth += 1
    return script(request.body as AskedModel, nth)
  })
  return {
    ...server,
    baseUrl: `${server.url}/v1`,
    calls: () => server.requests.map(({ body }) => body as AskedModel),
  }
}

interface Usage {
  inputTokens?: number
  outputTokens?: number
}

function responseBody(
  output: object[],
  { inputTokens = 200, outputTokens = 40 }: Usage,
  more: object = {},
): object {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1_790_000_000,
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: 'scripted',
    output,
    parallel_tool_calls: true,
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + outputTokens,
    },
    ...more,
  }
}

function message(content: object[], status = 'completed'): object {
  return { type: 'message', id: 'msg_1', role: 'assistant', status, content }
}

const outputText = (text: string) => ({ type: 'output_text', text, annotations: [] })

/** A completed answer; an object is written as JSON. */
export function modelAnswer(answer: unknown, usage: Usage = {}): ScriptedAnswer {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] }
  return { body: responseBody([reasoning, message([outputText(text)])], usage) }
}

/** Two messages with text in one answer. */
export function twoAnswers(first: unknown, second: unknown): ScriptedAnswer {
  const both = [first, second].map(each => message([outputText(JSON.stringify(each))]))
  return { body: responseBody(both, {}) }
}

/** Cut off at the ceiling of output tokens, with what there was. */
export function cutOffAnswer(text: string, usage: Usage = {}): ScriptedAnswer {
  const more = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  return { body: responseBody([message([outputText(text)], 'incomplete')], usage, more) }
}

/** Everything went into reasoning: cut off without any message. */
export function reasonedAway(usage: Usage = {}): ScriptedAnswer {
  const more = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  return { body: responseBody([{ type: 'reasoning', id: 'rs_1', summary: [] }], usage, more) }
}

export function refusedAnswer(refusal = 'I cannot help with that.'): ScriptedAnswer {
  return { body: responseBody([message([{ type: 'refusal', refusal }])], {}) }
}

/** A response object of a run that failed on the server's side, with status 200. */
export function failedResponse(code = 'server_error'): ScriptedAnswer {
  return { body: responseBody([], {}, { status: 'failed', error: { code, message: 'failed' } }) }
}

/** An error as the API words it. */
export function modelError(
  status: number,
  code: string,
  text: string,
  more: { param?: string; headers?: Record<string, string> } = {},
): ScriptedAnswer {
  const { param = null, headers = {} } = more
  const error = { message: text, type: 'invalid_request_error', param, code }
  return { status, headers, body: { error } }
}

/** Headers at once, then one byte every `everyMs`: alive, and never done. */
export function drippingAnswer(everyMs: number): ScriptedAnswer {
  return (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const drip = setInterval(() => response.write(' '), everyMs)
    response.once('close', () => clearInterval(drip))
  }
}

/** A body without an end, as fast as the socket takes it. */
export function endlessAnswer(): ScriptedAnswer {
  return (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const chunk = Buffer.alloc(64 * 1024, ' ')
    const pour = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', pour)
    pour()
  }
}
