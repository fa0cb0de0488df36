/**
 * CEL, the Common Expression Language (github.com/google/cel-spec), for filters and webhook
 * mappings. An expression is bounded in size, nesting and macro depth before it runs, and in
 * steps while it runs, so no expression of a user can stop the process. `matches` runs on an
 * automaton (RE2), which does not backtrack.
 */
import { isCelError, parse, plan } from '@bufbuild/cel'
import { AmbitError } from '../errors.ts'
import { CEL_DEPTH_MAX, type CelExpr, findProblem, meterLoops, referencesOf } from './cel-ast.ts'
import { celFromJson, jsonFromCel } from './cel-json.ts'
import { CEL_STEPS_MAX, isMeterEmpty, meteredEnv, startMeter } from './cel-meter.ts'

/** Largest expression, in UTF-8 bytes. */
const CEL_BYTES_MAX = 2048

/** Values of the variables: made by `celVariables`, so that they are own and JSON only. */
export type CelVariables = ReturnType<typeof celVariables>

/** What an evaluation ended with. An error is an expected outcome: a field may be missing. */
export type CelOutcome = { readonly value: unknown } | { readonly error: string }

/** An expression that may run. */
export interface CelProgram {
  /**
   * The result as JSON (`jsonFromCel`).
   *
   * @throws AmbitError `invalid` when evaluation fails: a missing field, types that do not fit,
   * or the allowance of steps used up.
   */
  evaluate(variables: Readonly<Record<string, unknown>>): unknown
  /** The same over prepared variables, with the failure as a value. */
  outcome(variables: CelVariables): CelOutcome
  /** The variable paths that the expression reads. */
  references(): string[][]
}

export interface CelOptions {
  /** The variables that exist: their names, or a test of a name. */
  variables: readonly string[] | ((name: string) => boolean)
}

/**
 * Compiles an expression.
 *
 * @throws AmbitError `invalid`, with line and column, when it cannot be parsed, names a variable
 * or function that does not exist, or is over a bound.
 */
export function compileCel(expression: string, { variables }: CelOptions): CelProgram {
  checkSize(expression)
  const { root, positions } = parseExpression(expression)
  const isVariable =
    typeof variables === 'function' ? variables : (name: string) => variables.includes(name)
  const problem = findProblem(root, isVariable)
  if (problem !== undefined) throw refusal(expression, problem.message, positions[`${problem.id}`])
  const references = referencesOf(root)
  meterLoops(root)
  const run = plan(meteredEnv, root)

  const outcome = (prepared: CelVariables): CelOutcome => {
    startMeter()
    const result = withoutStacks(() => run(prepared))
    if (isMeterEmpty()) {
      return { error: `the expression took more than ${CEL_STEPS_MAX} steps on this event` }
    }
    return isCelError(result) ? { error: result.message } : { value: jsonFromCel(result) }
  }
  return {
    outcome,
    evaluate(values) {
      const ended = outcome(celVariables(values))
      if ('value' in ended) return ended.value
      throw new AmbitError('invalid', `The expression failed: ${ended.error}`)
    },
    references: () => references,
  }
}

/**
 * The library makes an `Error` for each field that a loop does not find. Capturing a stack is
 * most of its cost and nobody reads it, so stacks are off for the length of one evaluation.
 */
function withoutStacks<T>(run: () => T): T {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  try {
    return run()
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Prepares JSON values as variables, to be shared by several evaluations. */
export function celVariables(values: Readonly<Record<string, unknown>>) {
  const prepared: Record<string, ReturnType<typeof celFromJson>> = Object.create(null)
  for (const name of Object.keys(values)) prepared[name] = celFromJson(values[name])
  return prepared
}

function checkSize(expression: string): void {
  const bytes = new TextEncoder().encode(expression).length
  if (bytes > CEL_BYTES_MAX) {
    throw new AmbitError(
      'invalid',
      `Expected a CEL expression of at most ${CEL_BYTES_MAX} bytes, got ${bytes}.`,
      { expected: `at most ${CEL_BYTES_MAX} bytes`, actual: `${bytes} bytes` },
    )
  }
  const tooDeep = findDeepBracket(expression)
  if (tooDeep !== undefined) {
    throw refusal(expression, `expected nesting of at most ${CEL_DEPTH_MAX}`, tooDeep)
  }
}

/**
 * The parser is recursive, so brackets are counted before it runs. Quotes are skipped roughly:
 * a bracket counted by mistake inside a raw or triple-quoted string only matters 32 deep.
 */
function findDeepBracket(expression: string): number | undefined {
  let depth = 0
  let quote = ''
  for (let at = 0; at < expression.length; at++) {
    const char = expression.charAt(at)
    if (quote !== '') {
      if (char === '\\') at++
      else if (char === quote) quote = ''
    } else if (char === '"' || char === "'") quote = char
    else if ('([{'.includes(char)) depth++
    else if (')]}'.includes(char)) depth--
    if (depth > CEL_DEPTH_MAX) return at
  }
  return undefined
}

function parseExpression(expression: string) {
  try {
    const { expr, sourceInfo } = parse(expression)
    const root: CelExpr | undefined = expr
    if (root !== undefined) return { root, positions: sourceInfo?.positions ?? {} }
  } catch (error) {
    throw refusal(expression, parseMessage(error), parseOffset(error))
  }
  throw refusal(expression, 'the expression is empty', 0)
}

function parseMessage(error: unknown): string {
  if (error instanceof RangeError) return 'the expression is nested too deeply'
  const message = error instanceof Error ? error.message : String(error)
  return message.replace(/^<input>:\d+:\d+: /, '')
}

/** Syntax errors of the library carry `location.start.offset`; others have no place. */
function parseOffset(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('location' in error)) return undefined
  const { location } = error
  if (typeof location !== 'object' || location === null || !('start' in location)) return undefined
  const { start } = location
  if (typeof start !== 'object' || start === null || !('offset' in start)) return undefined
  return typeof start.offset === 'number' ? start.offset : undefined
}

function refusal(expression: string, problem: string, offset: number | undefined): AmbitError {
  const before = offset === undefined ? undefined : expression.slice(0, offset).split('\n')
  const where =
    before === undefined
      ? ''
      : ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
  return new AmbitError('invalid', `The CEL expression is not valid${where}: ${problem}.`, {
    expected: 'a CEL expression within the bounds',
    actual: problem,
    ...(offset === undefined ? {} : { extra: { offset } }),
  })
}
