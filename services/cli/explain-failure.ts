/** Turns what went wrong into lines for people, a document for programs, and an exit code. */

import { isAmbitError } from '#kernel/errors.ts'
import { type ClientError, isClientError } from '#services/client/client-error.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { UsageError } from './usage-error.ts'

export interface Failure {
  exit: ExitCode
  code: string
  message: string
  /** JSON Pointer of the offending field. */
  at?: string
  expected?: string
  came?: string
  /** What to do now. */
  do?: string
}

const TO_DO: Readonly<Record<string, string>> = {
  unreachable: 'Start Ambit with `ambit up`, or give its address with --url or AMBIT_URL.',
  timeout: 'Try again; `ambit doctor` looks for what is slow.',
  'unexpected-answer': 'Give the address of the Ambit API with --url or AMBIT_URL.',
  unauthenticated: 'Give a key with --key or AMBIT_API_KEY, or run where .ambit/api-key is.',
  forbidden:
    'Use a key whose roles allow this; an administrator makes one with `ambit key create`.',
  'not-found': 'List what there is with `ambit get KIND`, such as `ambit get subscriptions`.',
  'stale-lease': 'Stop the work: another executor has the message, or it is settled.',
  'bad-handle': 'Give the handle that `ambit mailbox claim` printed for this message.',
  'version-mismatch': 'Read the object again and repeat the change.',
  'rate-limited': 'Wait and try again.',
  'not-ready': 'Wait until it has caught up; `ambit doctor` says what it waits for.',
}

/** Never throws; what nobody foresaw is `failed`. */
export function explainFailure(error: unknown): Failure {
  if (error instanceof UsageError) {
    const { message, expected, came, todo } = error
    return { exit: EXIT.usage, code: 'usage', message, ...given({ expected, came, do: todo }) }
  }
  if (isClientError(error)) return explainRefusal(error)
  if (isAmbitError(error)) {
    const { code, message, facts } = error
    const { pointer: at, expected, actual: came } = facts
    return { exit: EXIT.failed, code, message, ...given({ at, expected, came, do: TO_DO[code] }) }
  }
  const message = error instanceof Error ? error.message : String(error)
  return { exit: EXIT.failed, code: 'failed', message }
}

function explainRefusal(error: ClientError): Failure {
  const { status, code, message, pointer: at, expected, actual: came, retryAfterMs } = error
  const wait = retryAfterMs === undefined ? '' : ` (${Math.ceil(retryAfterMs / 1000)} s)`
  const todo = TO_DO[code] === undefined ? undefined : `${TO_DO[code]}${wait}`
  return { exit: exitOf(status), code, message, ...given({ at, expected, came, do: todo }) }
}

function exitOf(status: number): ExitCode {
  if (status === 0) return EXIT.unreachable
  return status === 404 ? EXIT.notFound : EXIT.failed
}

function given(facts: Partial<Failure>): Partial<Failure> {
  const members = Object.entries(facts).filter(([, value]) => value !== undefined)
  return Object.fromEntries(members)
}

/** The lines on stderr. */
export function failureText(failure: Failure): string {
  const rows: [string, string | undefined][] = [
    ['at', failure.at],
    ['expected', failure.expected],
    ['came', failure.came],
    ['do', failure.do],
  ]
  const lines = rows.flatMap(([name, value]) =>
    value === undefined ? [] : [`  ${name.padEnd(10)}${value}`],
  )
  return [`ambit: ${failure.message} [${failure.code}]`, ...lines].join('\n')
}
