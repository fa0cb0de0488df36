import { isClientError } from '#services/client/client-error.ts'
import type { Mailboxes } from '#services/client/mailbox-calls.ts'

/** A message of a session that is not over, as far as is known. */
export interface WaitingMessage {
  id: string
  /** It is a person's, and takes what waits to be told. */
  isPersons: boolean
}

/**
 * Messages of the session that wait. What is answered may be a moment old, so one that seems to be
 * leased counts: whoever asks holds the session, so it cannot be. A key that may not look is told
 * none: the closing then comes as a message of its own, which loses nothing.
 */
export async function waitingMessages(
  mailboxes: Pick<Mailboxes, 'messages'>,
  agent: string,
  session: string,
): Promise<WaitingMessage[]> {
  try {
    const pages = await Promise.all(
      ['queued', 'leased'].map(state => mailboxes.messages(agent).page({ state, limit: 200 })),
    )
    return pages
      .flatMap(({ items }) => items)
      .filter(message => (message.session ?? message.id) === session)
      .map(({ id, input }) => {
        const { kind } = (input ?? {}) as { kind?: unknown }
        return { id, isPersons: kind === 'turn' || kind === 'answer' }
      })
  } catch (error) {
    if (isClientError(error)) return []
    throw error
  }
}
