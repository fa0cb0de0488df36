import type { ChatAnswer, ChatRequest } from '#kernel/ports/chat-model.ts'
import type { TurnWorld } from './turn-state.ts'

/**
 * One model call within its time: then it is aborted, and what a stubborn adapter still answers is
 * not looked at. Rejects with the signal's reason once that is aborted.
 */
export async function callModel(
  { model, clock, limits, onDraft }: Pick<TurnWorld, 'model' | 'clock' | 'limits' | 'onDraft'>,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<ChatAnswer | 'request-timeout'> {
  const answered = new AbortController()
  const late = new AbortController()
  clock.sleep(limits.requestTimeoutMs, answered.signal).then(
    () => late.abort(new Error('The model call took too long.')),
    () => {},
  )
  const both = AbortSignal.any([signal, late.signal])
  try {
    // A stubborn adapter that still streams is not looked at either.
    const onText = onDraft && ((text: string) => both.aborted || onDraft(text))
    return await Promise.race([model.complete(request, both, onText), rejectedBy(both)])
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (late.signal.aborted) return 'request-timeout'
    throw error
  } finally {
    answered.abort()
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
