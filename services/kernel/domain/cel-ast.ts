/**
 * What is checked in an expression before it may run, and how its loops are made to pay.
 * The tree is the library's `cel.expr.Expr`; macros (`all`, `exists`, `map`, `filter`,
 * `exists_one`) are already comprehensions in it.
 */
import type { parse } from '@bufbuild/cel'
import { LOOP_APPEND, LOOP_LIST, LOOP_RANGE, LOOP_TURN, meteredEnv } from './cel-meter.ts'

export type CelExpr = NonNullable<ReturnType<typeof parse>['expr']>
type Comprehension = Extract<CelExpr['exprKind'], { case: 'comprehensionExpr' }>['value']

/** Deepest tree; logical chains are balanced, so they do not count by their length. */
export const CEL_DEPTH_MAX = 32
/** Deepest nesting of macros that loop. */
const CEL_LOOP_DEPTH_MAX = 2
/** Longest pattern of `matches`. */
const CEL_PATTERN_LENGTH_MAX = 128

const TYPE_NAMES = new Set('int uint double bool string bytes list map null_type type'.split(' '))
const BUILT_IN_OPERATORS = new Set(['_[_]', '_?_:_', '_&&_', '_||_', '@not_strictly_false'])
const ACCUMULATOR = '@result'

/** A rule that the expression breaks, and the node that breaks it. */
export interface CelProblem {
  message: string
  id: bigint
}

/** Where a node is seen from. */
interface Place {
  depth: number
  loops: number
  names: ReadonlySet<string>
}

/** The first rule that the tree breaks; undefined when it may run. */
export function findProblem(
  root: CelExpr,
  isVariable: (name: string) => boolean,
): CelProblem | undefined {
  return visit(root, { depth: 1, loops: 0, names: new Set() })

  function visit(expr: CelExpr, place: Place): CelProblem | undefined {
    const message = problemOf(expr, place, isVariable)
    if (message !== undefined) return { message, id: expr.id }
    for (const [child, at] of childPlaces(expr, place)) {
      const problem = visit(child, at)
      if (problem !== undefined) return problem
    }
    return undefined
  }
}

function problemOf(
  { exprKind: kind }: CelExpr,
  { depth, loops, names }: Place,
  isVariable: (name: string) => boolean,
): string | undefined {
  if (depth > CEL_DEPTH_MAX) return `expected nesting of at most ${CEL_DEPTH_MAX}`
  switch (kind.case) {
    case 'identExpr': {
      const { name } = kind.value
      const known = names.has(name) || isVariable(name) || TYPE_NAMES.has(name)
      return known ? undefined : `unknown variable '${name}'`
    }
    case 'callExpr':
      return callProblem(kind.value)
    case 'structExpr':
      return kind.value.messageName === '' ? undefined : 'messages cannot be built here'
    case 'comprehensionExpr':
      return loops >= CEL_LOOP_DEPTH_MAX
        ? `expected macros nested at most ${CEL_LOOP_DEPTH_MAX} deep`
        : undefined
    case undefined:
      return 'the expression is incomplete'
    default:
      return undefined
  }
}

type Call = Extract<CelExpr['exprKind'], { case: 'callExpr' }>['value']

function callProblem(call: Call): string | undefined {
  const name = call.function
  if (!BUILT_IN_OPERATORS.has(name) && meteredEnv.funcs.find(name) === undefined) {
    return `unknown function or macro '${name}'`
  }
  if (name !== 'matches') return undefined
  const pattern = call.args.at(-1)?.exprKind
  const text = pattern?.case === 'constExpr' ? pattern.value.constantKind : undefined
  return text?.case === 'stringValue' && text.value.length <= CEL_PATTERN_LENGTH_MAX
    ? undefined
    : `matches() takes a literal pattern of at most ${CEL_PATTERN_LENGTH_MAX} characters`
}

function childPlaces(expr: CelExpr, place: Place): [CelExpr, Place][] {
  const inner = { ...place, depth: place.depth + 1 }
  const kind = expr.exprKind
  if (kind.case !== 'comprehensionExpr') return childrenOf(expr).map(child => [child, inner])
  const { iterRange, iterVar } = kind.value
  const body = {
    depth: inner.depth,
    loops: place.loops + 1,
    names: new Set([...place.names, iterVar, ACCUMULATOR]),
  }
  return childrenOf(expr).map(child => [child, child === iterRange ? inner : body])
}

/** The nodes directly under this one. */
export function childrenOf({ exprKind: kind }: CelExpr): CelExpr[] {
  switch (kind.case) {
    case 'selectExpr':
      return present([kind.value.operand])
    case 'callExpr':
      return present([kind.value.target, ...kind.value.args])
    case 'listExpr':
      return kind.value.elements
    case 'structExpr':
      return kind.value.entries.flatMap(({ keyKind, value }) =>
        present([keyKind.case === 'mapKey' ? keyKind.value : undefined, value]),
      )
    case 'comprehensionExpr': {
      const { iterRange, accuInit, loopCondition, loopStep, result } = kind.value
      return present([iterRange, accuInit, loopCondition, loopStep, result])
    }
    default:
      return []
  }
}

function present(nodes: readonly (CelExpr | undefined)[]): CelExpr[] {
  return nodes.filter(node => node !== undefined)
}

/**
 * Rewrites every comprehension in place: its range pays for its size, each turn pays for the
 * nodes it runs, and lists grow by appending instead of by copying.
 */
export function meterLoops(expr: CelExpr): void {
  for (const child of childrenOf(expr)) meterLoops(child)
  if (expr.exprKind.case === 'comprehensionExpr') meterLoop(expr.id, expr.exprKind.value)
}

function meterLoop(id: bigint, loop: Comprehension): void {
  const { iterRange, loopCondition, loopStep } = loop
  if (iterRange === undefined || loopCondition === undefined || loopStep === undefined) return
  const cost = constant(id, {
    case: 'int64Value',
    value: BigInt(countNodes(loopStep) + countNodes(loopCondition) + 1),
  })
  const no = constant(id, { case: 'boolValue', value: false })
  if (appendInPlace(loopStep)) loop.accuInit = callNode(id, LOOP_LIST, [])
  loop.iterRange = callNode(id, LOOP_RANGE, [iterRange])
  loop.loopCondition = callNode(id, '_?_:_', [callNode(id, LOOP_TURN, [cost]), loopCondition, no])
}

/** Turns `@result + [x]`, alone or in a branch of a condition, into an append. */
function appendInPlace(step: CelExpr): boolean {
  if (step.exprKind.case !== 'callExpr') return false
  const call = step.exprKind.value
  if (call.function === '_?_:_') return call.args.some(appendInPlace)
  const [list, added] = call.args
  const isAppend =
    call.function === '_+_' &&
    list?.exprKind.case === 'identExpr' &&
    list.exprKind.value.name === ACCUMULATOR &&
    added?.exprKind.case === 'listExpr'
  if (!isAppend || added?.exprKind.case !== 'listExpr') return false
  call.function = LOOP_APPEND
  call.args = [list, ...added.exprKind.value.elements]
  return true
}

function countNodes(expr: CelExpr): number {
  return childrenOf(expr).reduce((sum, child) => sum + countNodes(child), 1)
}

function callNode(id: bigint, name: string, args: CelExpr[]): CelExpr {
  return {
    $typeName: 'cel.expr.Expr',
    id,
    exprKind: {
      case: 'callExpr',
      value: { $typeName: 'cel.expr.Expr.Call', function: name, args },
    },
  }
}

type ConstantKind = Extract<CelExpr['exprKind'], { case: 'constExpr' }>['value']['constantKind']

function constant(id: bigint, constantKind: ConstantKind): CelExpr {
  return {
    $typeName: 'cel.expr.Expr',
    id,
    exprKind: { case: 'constExpr', value: { $typeName: 'cel.expr.Constant', constantKind } },
  }
}

/** The variable paths that the tree reads, `data.total` as `['data', 'total']`, each once. */
export function referencesOf(root: CelExpr): string[][] {
  const found = new Map<string, string[]>()
  collect(root, new Set())
  return [...found.values()]

  function collect(expr: CelExpr, bound: ReadonlySet<string>): void {
    const path = pathOf(expr)
    if (path !== undefined) {
      const [head = ''] = path
      if (!bound.has(head) && !TYPE_NAMES.has(head)) found.set(path.join('\0'), path)
      return
    }
    const kind = expr.exprKind
    const inner =
      kind.case === 'comprehensionExpr'
        ? new Set([...bound, kind.value.iterVar, ACCUMULATOR])
        : bound
    for (const child of childrenOf(expr)) collect(child, inner)
  }
}

function pathOf({ exprKind: kind }: CelExpr): string[] | undefined {
  if (kind.case === 'identExpr') return [kind.value.name]
  if (kind.case !== 'selectExpr' || kind.value.operand === undefined) return undefined
  const above = pathOf(kind.value.operand)
  return above === undefined ? undefined : [...above, kind.value.field]
}
