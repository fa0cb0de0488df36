/**
 * A model that answers as the seed says: honestly, or with one of the faults of F18. What it was
 * asked and what it said is kept, so that checks can tell what a verdict may rest on.
 */
import type { StructuredModel, StructuredRequest, StructuredResult } from '#kernel/ports/model.ts'
import {
  type AskedItem,
  askedCriterion,
  askedItems,
  type ScriptedVerdict,
} from '#test/support/scripted-judge.ts'
import type { Random } from '../random.ts'
import type { SimProcess } from '../sim-process.ts'
import type { World } from '../world.ts'
import { DOUBT, INJECTED_QUOTE, INJECTION, saysWhat } from './meaning-plan.ts'
import type { HeldMoney } from './watch-money.ts'

export interface ModelCall {
  process: string
  model: string
  criterion: string
  isSet: boolean
  mode: string
  /** Texts of the items, in their order. */
  items: string[]
  /** The instructions without what differs from call to call. */
  words: string
  /** True ms and place in the order of the world. */
  at: number
  order: number
  /** When the process had the answer; never, where it died before. */
  endedAt: number | undefined
  isOutage: boolean
  /** What a whole answer said; undefined where nothing of it may be used. */
  said: ScriptedVerdict[] | undefined
  /** The reservation under which it was made. */
  held: HeldMoney | undefined
}

export interface ScriptedModels {
  calls: ModelCall[]
  /** Until when a model is out of order, by name. */
  outages: Map<string, number>
  open(process: SimProcess, world: World): StructuredModel
}

interface Question {
  criterion: string
  isSet: boolean
  words: string
  items: AskedItem[]
  timeoutMs: number
  random: Random
}

/** How a call ends. */
interface Ending {
  ms: number
  result: StructuredResult
  said?: ScriptedVerdict[]
}

const NOTHING = { inputTokens: 0, outputTokens: 0 }

/** Every way in which a model misbehaves. */
export const MODEL_MODES: Record<string, (question: Question) => Ending> = {
  timeout: q => broken(q, 'timeout', { ms: 300 }),
  hang: q => broken(q, 'timeout', { ms: q.timeoutMs }),
  'connection-failed': q => broken(q, 'connection-failed'),
  'server-error': q => broken(q, 'server-error'),
  'rate-limited': q => broken(q, 'rate-limited', { retryAfterMs: q.random.pick([0, 700, 3000]) }),
  'request-refused': q => {
    const isOutage = q.random.chance(0.3)
    return broken(q, 'request-refused', { isOutage, mayRetry: false })
  },
  empty: q => broken(q, 'empty', { isOutage: false, usage: usageOf(q) }),
  refusal: q => broken(q, 'refused', { isOutage: false, usage: usageOf(q) }),
  'cut-off': q => broken(q, 'cut-off', { isOutage: false, usage: usageOf(q) }),
  'two-objects': q =>
    q.random.chance(0.5)
      ? broken(q, 'several-answers', { isOutage: false, usage: usageOf(q) })
      : rambling(q, text => `${text}\n${text}`),
  malformed: q => rambling(q, text => text.slice(0, -q.random.between(1, 12))),
  'wrong-enum': q => rambling(q, text => text.replace(/"matched":\w+/, '"matched":"perhaps"')),
  'extra-fields': q => rambling(q, text => text.replace('{"item"', '{"tool":"send","item"')),
  'other-item': q =>
    saying(
      q,
      honest(q).map(v => ({ ...v, item: v.item + q.items.length })),
    ),
  'missing-item': q => saying(q, honest(q).slice(1)),
  'item-twice': q =>
    saying(
      q,
      honest(q).flatMap(v => [v, { ...v, matched: !v.matched }]),
    ),
  'invented-quote': q => saying(q, honest(q).map(invented)),
  'no-evidence': q =>
    saying(
      q,
      honest(q).map(v => ({ ...v, matched: true, evidence: [] })),
    ),
  gullible: q => saying(q, q.items.some(isInjected) ? honest(q).map(obeying) : honest(q)),
  slow: q => ({ ...saying(q, honest(q)), ms: q.timeoutMs - 50 }),
}

const isInjected = ({ text }: AskedItem) => text.includes(INJECTION)

function invented(verdict: ScriptedVerdict): ScriptedVerdict {
  const evidence = [{ quote: 'nobody wrote these words', pointer: '/text' }]
  return { ...verdict, matched: true, evidence }
}

/** One text tells the model what to say of all. */
function obeying(verdict: ScriptedVerdict): ScriptedVerdict {
  const evidence = [{ quote: INJECTED_QUOTE, pointer: '/text' }]
  return { ...verdict, matched: true, confidence: 1, evidence }
}

/** What an honest model says of each item, or of the set. */
function honest({ criterion, isSet, items }: Question): ScriptedVerdict[] {
  const each = items.map(({ item, text }) => {
    const word = saysWhat(text, criterion)
    const pointer = isSet ? `/${item}/text` : '/text'
    const evidence = word === undefined ? [] : [{ quote: word, pointer }]
    const confidence = text.includes(DOUBT) ? 0.5 : 0.9
    return { item, matched: word !== undefined, confidence, evidence, reason: 'scripted' }
  })
  if (!isSet) return each
  const matching = each.filter(({ matched }) => matched)
  const evidence = matching.flatMap(verdict => verdict.evidence)
  const verdict = { item: 0, matched: matching.length > 0, confidence: 0.9, evidence }
  return [{ ...verdict, reason: 'scripted' }]
}

function saying(q: Question, said: ScriptedVerdict[]): Ending {
  const usage = q.random.chance(0.05) ? NOTHING : usageOf(q)
  const text = JSON.stringify({ verdicts: said })
  return { ms: q.random.between(20, 400), result: { kind: 'answer', text, usage }, said }
}

/** A text that fits no schema. */
function rambling(q: Question, spoil: (text: string) => string): Ending {
  const { ms, result } = saying(q, honest(q))
  if (result.kind === 'answer') result.text = spoil(result.text)
  return { ms, result }
}

type Failed = Extract<StructuredResult, { kind: 'failed' }>

function broken(
  q: Question,
  reason: Failed['reason'],
  { ms = q.random.between(5, 300), ...more }: Partial<Failed> & { ms?: number } = {},
): Ending {
  const blank = { isOutage: true, mayRetry: true, usage: NOTHING }
  return { ms, result: { kind: 'failed', reason, ...blank, ...more } }
}

/** Always less than what a call may use at most. */
function usageOf({ items, random }: Question) {
  const letters = items.reduce((sum, { text }) => sum + text.length, 0)
  return { inputTokens: 100 + Math.round(letters / 3), outputTokens: random.between(20, 120) }
}

/** How often a call meets a fault of its own, before the seed's intensity. */
const FAULT_RATE = 0.2
/** How often the text of a failed call goes on failing in the same way. */
const STUBBORN_RATE = 0.35

export function createScriptedModels(
  random: Random,
  claimMoney: (process: string, text: string) => HeldMoney | undefined,
): ScriptedModels {
  const calls: ModelCall[] = []
  const outages = new Map<string, number>()
  /** Each seed has its own few, so that they meet each other. */
  const modes = Object.keys(MODEL_MODES).filter(() => random.chance(0.35))
  if (modes.length === 0) modes.push('malformed')
  /** Texts that are always answered in one way while faults last. */
  const failing = new Map<string, string>()
  const modeOf = ({ faults, intensity, clock }: World, model: string, items: AskedItem[]) => {
    if (clock.now() < (outages.get(model) ?? 0) && faults.isActive()) return 'server-error'
    if (items.some(isInjected) && faults.strikes('F18', 0.5)) return 'gullible'
    const [first, ...others] = items
    const isStubborn = first && others.length === 0 && faults.isActive()
    const stubborn = isStubborn && failing.get(first.text)
    if (stubborn) return stubborn
    if (!faults.strikes('F18', FAULT_RATE * Math.min(intensity, 2))) return 'honest'
    const mode = random.pick(modes)
    if (first && random.chance(STUBBORN_RATE)) failing.set(first.text, mode)
    return mode
  }
  return {
    calls,
    outages,
    open: (process, world) => ({
      async complete(request) {
        const { model, timeoutMs } = request
        const question = { ...readQuestion(request), timeoutMs, random }
        const mode = modeOf(world, model, question.items)
        const call: ModelCall = {
          ...{ process: process.name, model, mode, criterion: question.criterion },
          ...{ isSet: question.isSet, items: question.items.map(({ text }) => text) },
          words: question.words,
          ...{ at: world.clock.now(), order: world.history.order() },
          ...{ endedAt: undefined, isOutage: false, said: undefined },
          held: claimMoney(process.name, question.items[0]?.text ?? ''),
        }
        calls.push(call)
        world.history.incident(`${process.name} asks ${model} (${mode})`)
        const ending = MODEL_MODES[mode]?.(question) ?? saying(question, honest(question))
        await world.clock.sleep(ending.ms)
        await process.awake()
        call.endedAt = world.clock.now()
        call.isOutage = ending.result.kind === 'failed' && ending.result.isOutage
        call.said = ending.said
        return ending.result
      },
    }),
  }
}

/** Is one verdict asked for, of all items together? */
export const isAboutSet = ({ instructions }: StructuredRequest) =>
  instructions.includes('Judge all items together')

function readQuestion(request: StructuredRequest) {
  const criterion = askedCriterion(request)
  const isSet = isAboutSet(request)
  const boundary = /"\[([0-9a-f]{16,}) item N\]"/.exec(request.instructions)?.[1] ?? ''
  const words = request.instructions.replaceAll(boundary, '…').replace(criterion, '…')
  return { criterion, isSet, words, items: askedItems(request) }
}
