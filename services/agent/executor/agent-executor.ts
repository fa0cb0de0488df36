/** Works on one claimed message: a turn of the loop, or the closing of operations. */
import type { RunResult } from '#services/client/api.ts'
import type { Handler } from '#services/client/handle-message.ts'
import { lastWordsOf } from '../loop/last-words.ts'
import type { News, TurnResult } from '../loop/turn-state.ts'
import { drainedBatches } from '../operations/pending-updates.ts'
import { readAgentMessage } from './agent-message.ts'
import { closeOperations } from './close-operations.ts'
import { stoppedText } from './run-report.ts'
import { runTurn } from './run-turn.ts'
import { mayPass, say, settleTurn } from './settle-turn.ts'
import { markTold, takeUpdates } from './take-updates.ts'
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
  const { asked, context, sessions, key, message } = work
  const isPersons = asked.kind === 'turn' || asked.kind === 'answer'
  // An attempt that ended with words will say nothing more, so this one takes nothing.
  const spoken = lastWordsOf(await sessions.history(key), message.id)
  const news = isPersons && !spoken ? await takeUpdates(work, 'next_turn') : undefined
  const result = await runTurn(work, { opening: asked.opening, news })
  if (!context.signal.aborted) {
    if (!spoken) await sayRest(work, result, news)
    // A person's turn that took nothing tells nothing, and marked what others told when it began.
    if (news || spoken || !isPersons) await markTold(work)
    if (context.attempt > 1 && !mayPass(result)) await askAgain(work)
  }
  return settleTurn(work, result)
}

/**
 * Work that an earlier attempt opened may have ended before this one, and a closing that came in
 * between left it alone: it is asked for once more. One too many finds nothing left.
 */
async function askAgain({ world, key, message, context }: Work): Promise<void> {
  const all = await world.operations.ofSession(key)
  const isDrained = drainedBatches(all).some(({ batch }) => batch === message.id)
  const [own] = all.filter(({ batch }) => batch === message.id)
  if (own && isDrained) await world.askClosing(own, `again/${context.attempt}`)
}

/** What the loop left unsaid: why it stopped, and news that waited for too many attempts. */
async function sayRest(work: Work, result: TurnResult, news: News | undefined): Promise<void> {
  const { ok, stopReason } = result
  const tells = news ? { tells: news.tells } : {}
  if (ok || stopReason === 'asked') return
  if (!mayPass(result)) {
    const stopped = stoppedText(stopReason, work.asked.language)
    return say(work, news ? `${stopped}\n\n${news.text}` : stopped, { stopReason, ...tells })
  }
  if (news && work.context.attempt >= TELLING_ATTEMPTS_MAX) {
    await say(work, news.text, { ...tells, isAside: true })
  }
}
