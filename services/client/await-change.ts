/** Changes are answered at once or, after 5 s, with a status link; callers see only the outcome. */
import type { PendingChange } from './api.ts'
import { ClientError, NO_ANSWER } from './client-error.ts'
import { followLink } from './follow-link.ts'
import type { Call, Transport } from './transport.ts'

/** How long the status of a change is asked for. */
const PATIENCE_MS = 60_000

/** What the link of a change says once it was answered; `status` is a word until then. */
interface AnsweredChange {
  status: number
  body?: unknown
}

/**
 * Sends a change and resolves with its outcome, following the status link of a slow one. Rejects
 * `change-pending` after a minute: the change is durable then and may still be applied.
 */
export async function awaitChange<T>(transport: Transport, call: Call): Promise<T> {
  const answer = await transport.json<unknown>(call)
  if (!isPending(answer)) return answer as T
  const path = answer.status
  const link = { path, patienceMs: PATIENCE_MS, signal: call.signal }
  const answered = await followLink(transport, link, isAnswered)
  if (answered) return outcome<T>(answered.status, answered.body)
  throw new ClientError(
    `Expected the change to be answered within ${PATIENCE_MS / 1000} s, got none. It is durable ` +
      `and may still be applied; ask GET ${path} later.`,
    { status: 202, code: NO_ANSWER.pending },
  )
}

function isPending(answer: unknown): answer is PendingChange {
  if (typeof answer !== 'object' || answer === null) return false
  const { changeId, status } = answer as Partial<Record<string, unknown>>
  return typeof changeId === 'string' && typeof status === 'string' && status.startsWith('/')
}

function isAnswered(answer: unknown): answer is AnsweredChange {
  return typeof (answer as Partial<AnsweredChange> | undefined)?.status === 'number'
}

function outcome<T>(status: number, body: unknown): T {
  if (status < 400) return body as T
  const { message, facts } = { ...(body as { message?: string; facts?: Facts } | null) }
  throw new ClientError(message ?? `The change was refused with ${status}.`, {
    status,
    code: `http-${status}`,
    ...facts,
  })
}

interface Facts {
  pointer?: string
  expected?: string
  actual?: string
}
