/** Runs a judge, lexical or model, over items that share criteria, as the evaluator does. */
import { randomBytes } from 'node:crypto'
import type { JudgingModel } from '#kernel/host/judging-model.ts'
import type { ModelUsage } from '#kernel/ports/model.ts'
import { type JudgeItem, judgeItemOf } from '#services/evaluator/judge/judge-item.ts'
import { type CallOutcome, judgeItems } from '#services/evaluator/judge/judge-items.ts'
import { judgeOffline } from '#services/evaluator/judge/offline/offline-judge.ts'
import { outputTokensFor } from '#services/evaluator/judge/plan-call.ts'
import { promptOf } from '#services/evaluator/judge/prompt.ts'
import { checkFacts, validateVerdicts } from '#services/evaluator/judge/validate-verdicts.ts'
import { VERDICTS_JSON_SCHEMA } from '#services/evaluator/judge/verdict-schema.ts'
import type { Judged } from './score.ts'

export interface EvalSettings {
  judging: JudgingModel
  batchMax: number
  attemptsMax: number
  timeoutMs: number
  outputTokens: number
}

export interface EvalRun {
  judged: Judged[]
  usage: ModelUsage & { calls: number }
}

export interface EvalItem {
  criterion: string
  data: unknown
}

/** One outcome per item, in their order. */
export async function runJudge(
  items: readonly EvalItem[],
  settings: EvalSettings,
): Promise<EvalRun> {
  const judged: Judged[] = Array(items.length).fill('failed')
  const usage = { inputTokens: 0, outputTokens: 0, calls: 0 }
  const places = items.map((_, at) => at)
  for (const [criterion, group] of Map.groupBy(places, at => items[at]?.criterion ?? '')) {
    for (let from = 0; from < group.length; from += settings.batchMax) {
      const batch = group.slice(from, from + settings.batchMax)
      const batchItems = batch.map(at => itemOf(items[at]?.data))
      const outcomes = await judgeBatch(criterion, batchItems, { settings, usage })
      for (const [nth, at] of batch.entries()) judged[at] = outcomes[nth] ?? 'failed'
    }
  }
  return { judged, usage }
}

function itemOf(data: unknown): JudgeItem {
  return judgeItemOf({ specversion: '1.0', id: 'x', source: '/eval', type: 'item', data })
}

async function judgeBatch(
  criterion: string,
  items: JudgeItem[],
  { settings, usage }: { settings: EvalSettings; usage: EvalRun['usage'] },
): Promise<Judged[]> {
  const { model, names } = settings.judging
  if (!model) return items.map(item => judgeWords(criterion, item))
  const fates = await judgeItems<never>({
    count: items.length,
    scope: 'each',
    models: names,
    attemptsMax: settings.attemptsMax,
    pause: ms => new Promise(resolve => setTimeout(resolve, ms)),
    async call(name, places): Promise<CallOutcome<never>> {
      const asked = places.flatMap(at => items[at] ?? [])
      const prompt = promptOf(
        { criterion, scope: 'each', items: asked },
        randomBytes(8).toString('hex'),
      )
      const result = await model.complete({
        ...{ model: name, ...prompt, schema: VERDICTS_JSON_SCHEMA, timeoutMs: settings.timeoutMs },
        outputTokensMax: outputTokensFor(asked.length, settings.outputTokens),
      })
      usage.calls += 1
      usage.inputTokens += result.usage.inputTokens
      usage.outputTokens += result.usage.outputTokens
      if (result.kind === 'failed') return result
      return { kind: 'answered', results: validateVerdicts(result.text, asked, 'each').results }
    },
  })
  return fates.map(fate => {
    if (fate.kind !== 'valid') return 'failed'
    return fate.verdict.matched ? 'matched' : 'not-matched'
  })
}

function judgeWords(criterion: string, item: JudgeItem): Judged {
  const result = judgeOffline(criterion, item)
  if (result.kind !== 'valid') return 'failed'
  const checked = checkFacts(result.verdict, item.leaves)
  if (checked.kind !== 'valid') return 'failed'
  return checked.verdict.matched ? 'matched' : 'not-matched'
}
