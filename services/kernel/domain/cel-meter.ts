/**
 * What an expression may cost while it runs. Evaluation is synchronous, so a runaway expression
 * would stop everything else; a clock is not asked, so that the same expression always ends the
 * same way.
 *
 * - M1: every evaluation starts with the same allowance of steps; a step is about 0.1 µs.
 * - M2: each turn of a loop pays for every node of its body before it runs.
 * - M3: every function whose work grows with its arguments pays for their size before it runs.
 * - M4: an expression that used its allowance up has failed, whatever it would have answered.
 */
import {
  type CelFunc,
  type CelList,
  type CelMap,
  CelScalar,
  type CelValue,
  celEnv,
  celFunc,
  celList,
  celMethod,
  isCelError,
  isCelList,
  isCelMap,
  listType,
} from '@bufbuild/cel'

/** Steps one evaluation may use. */
export const CEL_STEPS_MAX = 300_000

/** Functions that only the rewritten loops call; `@` keeps them out of users' reach. */
export const LOOP_TURN = '@turn'
export const LOOP_RANGE = '@range'
export const LOOP_LIST = '@list'
export const LOOP_APPEND = '@append'

/** Longest string that `int`, `uint`, `double` and `timestamp` read. */
const PARSED_LENGTH_MAX = 128

const { BOOL, DOUBLE, DYN, INT, STRING } = CelScalar
const LIST = listType(DYN)

let stepsLeft = 0

/** Starts an evaluation with a full allowance. */
export function startMeter(): void {
  stepsLeft = CEL_STEPS_MAX
}

/** True when the evaluation asked for more than its allowance. */
export function isMeterEmpty(): boolean {
  return stepsLeft < 0
}

function pay(steps: number): void {
  stepsLeft -= steps
  if (stepsLeft < 0) throw new Error('the expression used up its allowance of steps')
}

const plainEnv = celEnv()

function loopFunctions(): CelFunc[] {
  const growing = new WeakMap<object, CelValue[]>()
  return [
    celFunc(LOOP_TURN, [INT], BOOL, cost => {
      pay(Number(cost))
      return true
    }),
    celFunc(LOOP_RANGE, [DYN], DYN, range => {
      if (isCelList(range) || isCelMap(range)) pay(range.size)
      return range
    }),
    celFunc(LOOP_LIST, [], LIST, () => {
      const items: CelValue[] = []
      const list = celList(items)
      growing.set(list, items)
      return list
    }),
    celFunc(LOOP_APPEND, [LIST, DYN], LIST, (list, item) => {
      growing.get(list)?.push(item)
      return list
    }),
  ]
}

/** Equality and membership walk lists and maps, so they pay for each value they look at. */
function collectionFunctions(): CelFunc[] {
  return [
    celFunc('_==_', [DYN, DYN], BOOL, isEqual),
    celFunc('_!=_', [DYN, DYN], BOOL, (left, right) => !isEqual(left, right)),
    celFunc('@in', [DYN, LIST], BOOL, (value, list) => {
      for (const item of list) if (isEqual(item, value)) return true
      return false
    }),
    celFunc('_+_', [LIST, LIST], LIST, (left, right) => {
      pay(left.size + right.size)
      return celList([...left, ...right])
    }),
  ]
}

const plainEquals = plainEnv.funcs.find('_==_')

function isEqual(left: CelValue, right: CelValue): boolean {
  if (typeof left === 'string' && typeof right === 'string') {
    pay(left.length === right.length ? 1 + (left.length >> 8) : 1)
    return left === right
  }
  pay(1)
  if (isCelList(left) && isCelList(right)) return listsEqual(left, right)
  if (isCelMap(left) && isCelMap(right)) return mapsEqual(left, right)
  return plainEquals?.call(0, undefined, [left, right]) === true
}

function listsEqual(left: CelList, right: CelList): boolean {
  if (left.size !== right.size) return false
  for (let at = 0; at < left.size; at++) {
    const ours = left.get(at)
    const theirs = right.get(at)
    if (ours === undefined || theirs === undefined || !isEqual(ours, theirs)) return false
  }
  return true
}

function mapsEqual(left: CelMap, right: CelMap): boolean {
  if (left.size !== right.size) return false
  for (const [key, value] of left) {
    const other = right.get(key)
    if (other === undefined || !isEqual(value, other)) return false
  }
  return true
}

/** A JSON number is a double and a literal `1` an int: arithmetic between them is on doubles. */
function mixedArithmetic(): CelFunc[] {
  const operators: Record<string, (left: number, right: number) => number> = {
    '_+_': (left, right) => left + right,
    '_-_': (left, right) => left - right,
    '_*_': (left, right) => left * right,
    '_/_': (left, right) => left / right,
    '_%_': (left, right) => left % right,
  }
  return Object.entries(operators).flatMap(([name, apply]) => [
    celFunc(name, [DOUBLE, INT], DOUBLE, (left, right) => apply(left, Number(right))),
    celFunc(name, [INT, DOUBLE], DOUBLE, (left, right) => apply(Number(left), right)),
    ...(name === '_%_' ? [celFunc(name, [DOUBLE, DOUBLE], DOUBLE, apply)] : []),
  ])
}

type Price = (target: CelValue | undefined, args: readonly CelValue[]) => number

const byLength: Price = (target, args) =>
  args.reduce<number>((sum, arg) => sum + lengthOf(arg), lengthOf(target)) >> 4

function lengthOf(value: CelValue | undefined): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0
}

/** Searching may compare the whole needle at every place, so both lengths count. */
const bySearch: Price = (target, [needle]) =>
  (lengthOf(target) >> 6) + ((lengthOf(target) * lengthOf(needle)) >> 8)

/**
 * The automaton takes time in proportion to text times states, and building it takes the larger
 * part when the text is short. Counted repetition copies states, so the counts multiply.
 */
const byPattern: Price = (target, [pattern]) => {
  if (typeof pattern !== 'string') return 0
  const counts = pattern.matchAll(/\{(\d{1,4})(?:,(\d{0,4}))?\}/g)
  const states = counts.reduce(
    (product, [, low, high]) => product * Math.max(Number(low), Number(high ?? 0)),
    pattern.length,
  )
  return 1_000 + 7 * states + (states * lengthOf(target)) / 64
}

const byNumberText: Price = (_target, [text]) => {
  if (lengthOf(text) > PARSED_LENGTH_MAX) {
    throw new Error(`cannot convert a string of more than ${PARSED_LENGTH_MAX} characters`)
  }
  return 10
}

/** With a zone, a calendar formatter is built on every call. */
const byZone: Price = (_target, args) => (args.length > 0 ? 2_000 : 20)

const PRICES: Record<string, Price> = {
  size: byLength,
  bytes: byLength,
  string: byLength,
  contains: bySearch,
  startsWith: byLength,
  endsWith: byLength,
  matches: byPattern,
  int: byNumberText,
  uint: byNumberText,
  double: byNumberText,
  timestamp: byNumberText,
  duration: byNumberText,
  '_<_': byLength,
  '_<=_': byLength,
  '_>_': byLength,
  '_>=_': byLength,
  '_+_': byLength,
}

function pricedFunctions(): CelFunc[] {
  return [...plainEnv.funcs].flatMap(func => {
    const price = func.name.startsWith('get') ? byZone : PRICES[func.name]
    return price === undefined || !isPriced(func) ? [] : [metered(func, price)]
  })
}

/** Functions of numbers, booleans and whole collections do constant work. */
function isPriced(func: CelFunc): boolean {
  if (func.name.startsWith('get')) return true
  return [func.target, ...func.arguments].some(type => type === STRING || type === CelScalar.BYTES)
}

function metered(func: CelFunc, price: Price): CelFunc {
  const run = (target: CelValue | undefined, args: readonly CelValue[]): CelValue => {
    pay(price(target, args))
    const result = func.call(0, target, [...args])
    if (result === undefined || isCelError(result)) throw result ?? new Error('no such overload')
    return result
  }
  const { name, target, arguments: types, result } = func
  if (target === undefined) {
    return celFunc(name, types, result, (...args: CelValue[]) => run(undefined, args))
  }
  return celMethod(name, target, types, result, function (this: CelValue, ...args: CelValue[]) {
    return run(this, args)
  })
}

/** The environment of every expression: CEL's standard functions, metered. */
export const meteredEnv = celEnv({
  funcs: [...loopFunctions(), ...collectionFunctions(), ...mixedArithmetic(), ...pricedFunctions()],
})
