import { isClientError } from '#services/client/client-error.ts'
import type { Mailboxes } from '#services/client/mailbox-calls.ts'

/**
 * A person's turns of the session that wait, by message id. What is answered may be a moment old.
 * A key that may not look is told none: the closing then comes as a message of its own, which
 * loses nothing.
 */
export async function turnsWaiting(
  mailboxes: Pick<Mailboxes, 'messages'>,
  agent: string,
  session: string,
): Promise<string[]> {
  try {
    const { items } = await mailboxes.messages(agent).page({ state: 'queued', limit: 200 })
    return items.flatMap(message => {
      const input = message.input as { kind?: unknown } | undefined
      return message.session === session && input?.kind === 'turn' ? [message.id] : []
    })
  } catch (error) {
    if (isClientError(error)) return []
    throw error
  }
}
