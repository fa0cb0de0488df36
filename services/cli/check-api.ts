/** What `doctor` asks the API: is it there, caught up, does it take the key, how are services. */
import type { ServiceState } from '#services/client/api-history.ts'
import { isClientError } from '#services/client/client-error.ts'
import type { CommandContext } from './command.ts'
import { explainFailure } from './explain-failure.ts'
import { findConnection } from './find-connection.ts'
import { memberAt } from './format-table.ts'
import { serviceLine } from './system-lines.ts'

export interface Check {
  check: string
  state: 'ok' | 'warning' | 'failed' | 'not configured'
  found: string
  /** What to do; absent when nothing is to be done. */
  todo?: string
}

/** The first check is reachability; without it the others are not asked. */
export async function checkApi(context: CommandContext): Promise<Check[]> {
  const reached = await checkReached(context)
  if (reached.state === 'failed') return [reached]
  return [reached, await checkReady(context), ...(await checkKey(context))]
}

async function checkReached({ url, world }: CommandContext): Promise<Check> {
  const check = 'api'
  const todo = 'Start it with `ambit up`, or give its address with --url or AMBIT_URL.'
  try {
    const signal = AbortSignal.timeout(5000)
    const response = await world.fetch(`${url.replace(/\/+$/, '')}/healthz`, { signal })
    if (response.ok) return { check, state: 'ok', found: `answers at ${url}` }
    return { check, state: 'failed', found: `${url} answers ${response.status}`, todo }
  } catch {
    return { check, state: 'failed', found: `no answer from ${url}`, todo }
  }
}

async function checkReady({ client }: CommandContext): Promise<Check> {
  const check = 'readiness'
  try {
    await client().system.ready()
    return { check, state: 'ok', found: 'caught up' }
  } catch (error) {
    const waiting = isClientError(error) ? memberAt(error.problem, 'waiting') : undefined
    const found = Array.isArray(waiting) ? `waits for: ${waiting.join(', ')}` : 'not ready'
    const todo = 'Wait a little; if it stays so, look into the log of the service.'
    return { check, state: 'failed', found, todo }
  }
}

/** The key, and with it what the system says of its services. */
async function checkKey({ client, flags, world }: CommandContext): Promise<Check[]> {
  const { keyFrom } = await findConnection(flags, world)
  const check = 'key'
  try {
    const { services = [] } = await client().system.get()
    const key: Check = { check, state: 'ok', found: `accepted (from ${keyFrom})` }
    return [key, ...services.map(checkService)]
  } catch (error) {
    const { message, do: todo } = explainFailure(error)
    const found = `${message} (key: ${keyFrom})`
    return [{ check, state: 'failed', found, ...(todo ? { todo } : {}) }]
  }
}

const ADVICE: Record<string, string> = {
  scheduler: 'Is the scheduler running? Its log says why it cannot dispatch.',
  'mcp-poller': '`ambit get notices` names the sources that fail or may not be read any more.',
  judge: '`ambit get decisions --fate evaluation-failed` says why; see ambit_model_calls_total.',
}

function checkService(service: ServiceState): Check {
  const { part, state, lag, found } = serviceLine(service)
  const check: Check = { check: part, state: state === 'ok' ? 'ok' : 'warning', found }
  if (state === 'ok') return check
  const todo = ADVICE[part]
  const late = lag ? `, ${lag} late` : ''
  return { ...check, found: `${state}${late}: ${found}`, ...(todo ? { todo } : {}) }
}
