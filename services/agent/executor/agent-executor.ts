/** Works on one claimed message: a turn of the loop, or the closing of operations. */
import type { RunResult } from '#services/client/api.ts'
import type { Handler } from '#services/client/handle-message.ts'
import { closingContext, closingText } from '../operations/closing-text.ts'
import { readAgentMessage } from './agent-message.ts'
import { closeOperations } from './close-operations.ts'
import { runTurn } from './run-turn.ts'
import { mayPass, say, settleTurn } from './settle-turn.ts'
import { takeUpdates } from './take-updates.ts'
import type { ExecutorWorld, Work } from './work.ts'

/** Attempts in which a model may tell what it was handed; then it is told without one. */
const TELLING_ATTEMPTS_MAX = 3

/** The executor's handler; give it to `client.work`. */
export function createAgentHandler(world: ExecutorWorld): Handler {
  return async (message, context) => {
    const key = { tenant: message.tenant, session: message.session ?? message.id }
    const sessions = world.sessionsUnder(() => context.lease().token)
    const asked = readAgentMessage(message)
    const work: Work = { world, message, context, key, sessions, asked }
    return asked.kind === 'follow-up' ? closeOperations(work) : takeTurn(work)
  }
}

async function takeTurn(work: Work): Promise<RunResult | undefined> {
  const { asked, world, context } = work
  const isPersons = asked.kind === 'turn' || asked.kind === 'answer'
  const mayTell = isPersons && !(await hasSpoken(work))
  const updates = mayTell ? await takeUpdates(work, 'next_turn') : []
  const find = (name: string) => world.registry.find(name)
  const ephemeral = updates.length > 0 ? closingContext(updates, find) : undefined
  const result = await runTurn(work, { opening: asked.opening, ephemeral })
  const isLast = !mayPass(result) || context.attempt >= TELLING_ATTEMPTS_MAX
  if (updates.length > 0 && !result.ok && isLast && !context.signal.aborted) {
    await say(work, closingText(updates, find), result.stopReason)
  }
  return settleTurn(work, result)
}

/** An earlier attempt ended with words: this one will say nothing more, so it takes nothing. */
async function hasSpoken({ sessions, key, message }: Work): Promise<boolean> {
  const own = (await sessions.history(key)).findLast(({ messageId }) => messageId === message.id)
  return own?.item.role === 'assistant' && own.item.toolCalls.length === 0
}
