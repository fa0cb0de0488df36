/** A server that speaks the Responses API as a test says. */
import { setTimeout as pause } from 'node:timers/promises'
import { type ScriptedAnswer, type ScriptedServer, scriptedServer } from './scripted-server.ts'

/** A completed answer with the given output items. */
export function responseOf(output: object[], more: object = {}): ScriptedAnswer {
  const usage = { input_tokens: 12, output_tokens: 3, total_tokens: 15 }
  return { body: { id: 'resp_1', object: 'response', status: 'completed', output, usage, ...more } }
}

/** The same answer as a stream: its text piece by piece, then its last event unless it is cut. */
export function streamOf(
  pieces: string[],
  last: object | undefined,
  more: { pauseMs?: number } = {},
): ScriptedAnswer {
  return async response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (event: { type: string }) =>
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    for (const delta of pieces) {
      send({ type: 'response.output_text.delta', ...{ delta } })
      if (more.pauseMs) await pause(more.pauseMs)
    }
    if (last) send(last as { type: string })
    response.end()
  }
}

/** The last event of a stream, with the whole answer in it. */
export function endOf(type: 'completed' | 'incomplete' | 'failed', answer: ScriptedAnswer): object {
  const body = typeof answer === 'object' ? (answer.body as object) : {}
  const cut = type === 'incomplete' ? { incomplete_details: { reason: 'max_output_tokens' } } : {}
  return { type: `response.${type}`, response: { ...body, status: type, ...cut } }
}

export function textItem(text: string): object {
  return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }
}

export function refusalItem(refusal: string): object {
  return { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal }] }
}

export function callItem(name: string, args: unknown, callId = 'call_1'): object {
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  return { type: 'function_call', id: 'fc_1', call_id: callId, name, arguments: text }
}

/** An error in the provider's form. */
export function apiError(status: number, code: string | null = null, headers = {}): ScriptedAnswer {
  const body = { error: { message: 'scripted', type: 'error', code, param: null } }
  return { status, body, headers: { 'content-type': 'application/json', ...headers } }
}

/** Answers `POST /v1/responses` in order; the last answer is repeated. */
export function scriptedResponses(...answers: ScriptedAnswer[]): Promise<ScriptedServer> {
  let asked = 0
  return scriptedServer(() => answers[Math.min(asked++, answers.length - 1)] ?? apiError(500))
}
