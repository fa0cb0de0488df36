/** The events of a streamed answer of the Responses API, read to its end. */
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'

/**
 * The answer as its last event has it: what was heard before is only shown. Rejects for a stream
 * that ends without one, as for any connection that broke.
 */
export async function readResponseStream(
  events: AsyncIterable<ResponseStreamEvent>,
  onText: (textSoFar: string) => void,
): Promise<Response> {
  let text = ''
  for await (const event of events) {
    switch (event.type) {
      case 'response.output_text.delta':
        text += event.delta
        onText(text)
        break
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        return event.response
      case 'error':
        throw new Error(`The stream of the model failed: ${event.code ?? 'no reason given'}.`)
    }
  }
  throw new Error('The stream of the model ended before its answer did.')
}
