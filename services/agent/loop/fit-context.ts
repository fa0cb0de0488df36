/** Makes a request fit the model's context window without cutting a tool call from its result. */
import type { ChatItem, ChatRequest } from '#kernel/ports/chat-model.ts'

/** Characters per token, below what texts and JSON of Latin scripts have: it errs towards short. */
const CHARACTERS_PER_TOKEN = 3
/** Tokens that the form of one item costs. */
const ITEM_TOKENS = 8
/** What is left of a tool result that was shortened, in characters. */
const SHORTENED_CHARACTERS = 400

/** An upper estimate; the provider's own count is not known before it answers. */
export function tokensOf(request: ChatRequest): number {
  const fixed = request.instructions.length + JSON.stringify(request.tools).length
  return request.items.reduce(
    (sum, item) => sum + ITEM_TOKENS + charactersOf(item) / CHARACTERS_PER_TOKEN,
    fixed / CHARACTERS_PER_TOKEN,
  )
}

function charactersOf(item: ChatItem): number {
  const text = item.text.length
  if (item.role !== 'assistant') return text
  const calls = item.toolCalls.map(call => call.name.length + call.arguments.length)
  return calls.reduce((sum, length) => sum + length, text)
}

/**
 * The request within `tokensMax` less its answer, or undefined when it cannot fit. Whole earlier
 * turns go first, oldest first; then results of tools in the current turn are shortened. The
 * current turn starts at `turnAt`, and nothing of it goes.
 */
export function fitContext(
  request: ChatRequest,
  tokensMax: number,
  turnAt: number,
): ChatRequest | undefined {
  const room = tokensMax - request.outputTokensMax
  let items = request.items
  const fits = () => tokensOf({ ...request, items }) <= room
  for (let left = turnAt; left > 0 && !fits(); ) {
    const next = items.findIndex((item, at) => at > 0 && item.role === 'user')
    const dropped = next < 0 ? left : Math.min(next, left)
    items = items.slice(dropped)
    left -= dropped
  }
  for (let at = 0; at < items.length && !fits(); at += 1) {
    items = items.with(at, shortened(items[at]!))
  }
  return fits() ? { ...request, items } : undefined
}

function shortened(item: ChatItem): ChatItem {
  if (item.role !== 'tool' || item.text.length <= SHORTENED_CHARACTERS) return item
  const text = `${item.text.slice(0, SHORTENED_CHARACTERS)}\n[shortened to fit the context window]`
  return { ...item, text }
}
