/**
 * Results reach a conversation with the words that tell them: those words name the operations, in
 * the one append that is fenced by the lease. The operations are marked afterwards, so whoever dies
 * in between leaves them to the next holder, and nothing is told twice or by nobody.
 */
import { lastWordsOf } from '../loop/last-words.ts'
import type { Telling } from '../loop/session-store.ts'
import type { News } from '../loop/turn-state.ts'
import { closingContext, closingText } from '../operations/closing-text.ts'
import type { Operation } from '../operations/operation.ts'
import { takeable, toldOf } from '../operations/pending-updates.ts'
import type { Language } from '../tools/tool.ts'
import type { Work } from './work.ts'

export interface Updates extends News {
  /** Of the conversation that the operations come from. */
  language: Language
  /** A person's turn waits, and will take them when nobody has told them. */
  isAwaited: boolean
  /** Something among them failed. */
  hasFailed: boolean
}

/**
 * What waits to be told in this session; undefined when nothing does. What a turn opened that is to
 * be tried again is left alone: it may open more, and asks for a closing when it ends.
 */
export async function takeUpdates(
  work: Pick<Work, 'world' | 'key' | 'sessions' | 'message'>,
  mode: Telling['mode'],
): Promise<Updates | undefined> {
  const { world, message } = work
  const drained = takeable(await markTold(work), message.id)
  const unended = drained.length === 0 ? [] : await unendedMessages(work)
  const found = drained.filter(({ batch }) => !unended.some(({ id }) => id === batch))
  if (found.length === 0) return undefined
  const find = (name: string) => world.registry.find(name)
  return {
    tells: { mode, operations: found.map(({ id }) => id) },
    context: closingContext(found, find),
    text: closingText(found, find),
    language: found[0]?.language ?? 'en',
    isAwaited: unended.some(({ isPersons }) => isPersons),
    hasFailed: found.some(({ outcome }) => !outcome?.ok),
  }
}

/** Other messages of the session that wait: one that has ended with words does nothing more. */
async function unendedMessages({
  world,
  key,
  sessions,
  message,
}: Parameters<typeof takeUpdates>[0]) {
  const waiting = await world.waitingMessages(key.session)
  const history = await sessions.history(key)
  return waiting.filter(({ id }) => id !== message.id && !lastWordsOf(history, id))
}

/**
 * Marks operations as the history says that they were told; resolves with all of the session as
 * they are then. Each look at the log waits for it, so the history is read only if a result waits.
 */
export async function markTold({
  world,
  key,
  sessions,
}: Pick<Work, 'world' | 'key' | 'sessions'>): Promise<Operation[]> {
  const operations = await world.operations.ofSession(key)
  if (!operations.some(({ delivery }) => delivery === 'queued')) return operations
  const history = await sessions.history(key)
  const now = world.clock.date()
  const told = toldOf(operations, history, now)
  for (const each of told) {
    await world.operations.change(each, current => toldOf([current], history, now)[0])
  }
  const marked = new Map(told.map(each => [each.id, each]))
  return operations.map(each => marked.get(each.id) ?? each)
}
