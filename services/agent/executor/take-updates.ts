import { delivered, type Operation } from '../operations/operation.ts'
import { takeable } from '../operations/pending-updates.ts'
import type { Work } from './work.ts'

/**
 * Takes the results that wait for this session. The lease on the session is held, so nobody else
 * takes them; they are marked before anything is said, and found again by the same message when it
 * is interrupted.
 */
export async function takeUpdates(
  { world, key, message }: Pick<Work, 'world' | 'key' | 'message'>,
  mode: 'proactive' | 'next_turn',
): Promise<Operation[]> {
  const found = takeable(await world.operations.ofSession(key), message.id)
  const taken: Operation[] = []
  for (const operation of found) {
    const { id: messageId } = message
    const mark = (current: Operation) => delivered(current, { mode, messageId }, world.clock.date())
    const isMine = operation.deliveredBy === messageId
    const marked = isMine ? operation : await world.operations.change(operation, mark)
    if (marked) taken.push(marked)
  }
  return taken
}
