import { isClientError } from '#services/client/client-error.ts'
import type { Mailboxes } from '#services/client/mailbox-calls.ts'

/**
 * Does a person's turn of the session wait? A key that may not look is told no: the closing then
 * comes as a message of its own, which loses nothing.
 */
export async function isTurnWaiting(
  mailboxes: Pick<Mailboxes, 'messages'>,
  agent: string,
  session: string,
): Promise<boolean> {
  try {
    const { items } = await mailboxes.messages(agent).page({ state: 'queued', limit: 200 })
    return items.some(message => {
      const input = message.input as { kind?: unknown } | undefined
      return message.session === session && input?.kind === 'turn'
    })
  } catch (error) {
    if (isClientError(error)) return false
    throw error
  }
}
