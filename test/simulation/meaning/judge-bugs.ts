/** Bugs of judging, planted between the judge and its model, or between it and the log. */
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { StructuredModel, StructuredRequest, StructuredResult } from '#kernel/ports/model.ts'
import { askedItems, type ScriptedVerdict } from '#test/support/scripted-judge.ts'
import { withOutputs } from '../bugs/changed-ports.ts'
import type { MeaningBug } from './meaning-world.ts'
import { isAboutSet } from './scripted-model.ts'

type Judge = NonNullable<ReturnType<NonNullable<MeaningBug['outside']>>['judge']>

/** A judge whose model is asked in another way. */
function withModel(
  ask: (request: StructuredRequest, model: StructuredModel) => Promise<StructuredResult>,
): Pick<MeaningBug, 'outside'> {
  return {
    outside: outside => {
      const { model } = outside.judge
      if (!model) return outside
      const complete = (request: StructuredRequest) => ask(request, model)
      return { ...outside, judge: { ...outside.judge, model: { complete } } }
    },
  }
}

const withSettings = (change: (judge: Judge) => Partial<Judge>): Pick<MeaningBug, 'outside'> => ({
  outside: outside => ({ ...outside, judge: { ...outside.judge, ...change(outside.judge) } }),
})

/** What is read where there is nothing to read: nothing matches. */
function noToAll(request: StructuredRequest, { usage }: StructuredResult): StructuredResult {
  const items = isAboutSet(request)
    ? [{ item: 0 }]
    : askedItems(request).map(({ item }) => ({ item }))
  const blank = { matched: false, confidence: 0.9, evidence: [], reason: '' }
  const verdicts = items.map(({ item }) => ({ item, ...blank }))
  return { kind: 'answer', text: JSON.stringify({ verdicts }), usage }
}

/** A failure of one kind passes for an answer. */
const readsAnyway = (reason: string) =>
  withModel(async (request, model) => {
    const result = await model.complete(request)
    const isRead = result.kind === 'failed' && result.reason === reason
    return isRead ? noToAll(request, result) : result
  })

/** Verdicts are numbered as they come, whatever they say they are about. */
function numberedAnew(result: StructuredResult): StructuredResult {
  if (result.kind !== 'answer') return result
  try {
    const { verdicts } = JSON.parse(result.text) as { verdicts: ScriptedVerdict[] }
    if (verdicts.some(({ item }) => item === 0)) return result
    const anew = verdicts.map((verdict, at) => ({ ...verdict, item: at + 1 }))
    return { ...result, text: JSON.stringify({ verdicts: anew }) }
  } catch {
    return result
  }
}

interface Told {
  outcome: string
  body: { failure?: string; evidence: unknown[] }
}

/** Changes verdicts on their way to the log, alone and on candidates. */
function withVerdicts(change: (told: Told) => Told): Pick<MeaningBug, 'outside'> {
  const changed = (output: Output): Output => {
    const { topic, value } = output
    if (topic === 'verdicts' && value) return { ...output, value: change(value as Told) }
    const { verdict } = (value ?? {}) as { verdict?: Told }
    const isJudged = (topic === 'candidates' || topic === 'evaluations') && verdict
    return isJudged ? { ...output, value: { ...value, verdict: change(verdict) } } : output
  }
  return { outside: outside => ({ ...outside, writer: inner => withOutputs(inner, changed) }) }
}

export const JUDGE_BUGS: readonly MeaningBug[] = [
  {
    name: 'quote-unchecked',
    meaning: 'a match stands although its quote does not occur',
    ...withVerdicts(told => {
      const { failure, ...body } = told.body
      if (failure !== 'invented-quote') return told
      const evidence = [{ quote: 'nobody wrote these words', pointer: '/text' }]
      return { ...told, outcome: 'matched', confidence: 0.9, body: { ...body, evidence } } as Told
    }),
  },
  {
    name: 'failure-is-no',
    meaning: 'what could not be judged counts as not matched',
    ...withVerdicts(told => {
      const { failure, ...body } = told.body
      return failure === undefined ? told : { ...told, outcome: 'not-matched', body }
    }),
  },
  {
    name: 'cut-off-used',
    meaning: 'what came before an answer was cut off is used',
    ...readsAnyway('cut-off'),
  },
  { name: 'silence-is-no', meaning: 'an empty answer is a no', ...readsAnyway('empty') },
  { name: 'refusal-is-no', meaning: 'a refusal is a no', ...readsAnyway('refused') },
  { name: 'late-is-no', meaning: 'no answer in time is a no', ...readsAnyway('timeout') },
  {
    name: 'other-item',
    meaning: 'a verdict about another item is taken for the one that was asked about',
    ...withModel(async (request, model) => numberedAnew(await model.complete(request))),
  },
  {
    name: 'hidden-retries',
    meaning: 'the client library asks again by itself, and nobody counts it',
    ...withModel(async (request, model) => {
      const result = await model.complete(request)
      const isTried = result.kind === 'failed' && result.mayRetry
      return isTried ? model.complete(request) : result
    }),
  },
  {
    name: 'asks-on-and-on',
    meaning: 'an item that fails is asked about without end',
    ...withSettings(() => ({ attemptsMax: 40 })),
  },
  {
    name: 'breaker-missing',
    meaning: 'a model that fails again and again is asked all the same',
    ...withSettings(() => ({ breaker: { failuresMax: 1_000_000, openMs: 1 } })),
  },
  {
    name: 'never-suspends',
    meaning: 'evaluations fail and fail, and nobody is told',
    ...withSettings(() => ({ suspendAfter: 1_000_000 })),
  },
]
