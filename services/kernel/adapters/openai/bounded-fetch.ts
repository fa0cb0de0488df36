/** `fetch` whose answers have an end: a model's answer is small, and a broken server's is not. */

/** Largest body of an answer that is read, in bytes. */
export const ANSWER_BYTES_MAX = 4 * 1024 * 1024

/** Fails while the body is read when it passes the bound. Redirects are answers, not followed. */
export async function boundedFetch(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'manual' })
  const { body, status, statusText, headers } = response
  if (!body) return response
  let read = 0
  const bounded = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        read += chunk.byteLength
        if (read > ANSWER_BYTES_MAX) controller.error(new Error('the answer is too large'))
        else controller.enqueue(chunk)
      },
    }),
  )
  return new Response(bounded, { status, statusText, headers })
}
