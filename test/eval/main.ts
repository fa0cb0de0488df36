/**
 * `npm run eval:judge -- [--set FILE] [--model NAME] [--json] [--write-baseline]`: scores the
 * judge that is configured (`AMBIT_EVALUATOR_…`), the offline one without configuration.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { readConfiguration } from '#kernel/host/configuration.ts'
import { openJudgingModel } from '#kernel/host/judging-model.ts'
import { judgeReport, readSet, shippedSet } from './judge-report.ts'
import type { Score } from './score.ts'

const { values } = parseArgs({
  options: {
    set: { type: 'string' },
    model: { type: 'string' },
    json: { type: 'boolean', default: false },
    'write-baseline': { type: 'boolean', default: false },
  },
})
const named = values.model ? { AMBIT_EVALUATOR_MODEL: values.model } : {}
const settings = readConfiguration({ ...process.env, ...named })
const judging = openJudgingModel(settings)
if (values.model && values.model !== judging.names[0]) {
  console.error(
    `${values.model} needs AMBIT_EVALUATOR_BASE_URL or AMBIT_EVALUATOR_API_KEY; set one of them.`,
  )
  process.exit(1)
}
const report = await judgeReport(values.set ? readSet(values.set) : shippedSet(), {
  judging,
  batchMax: settings.AMBIT_EVALUATOR_BATCH_MAX,
  attemptsMax: settings.AMBIT_EVALUATOR_MAX_ATTEMPTS,
  timeoutMs: settings.AMBIT_EVALUATOR_TIMEOUT_MS,
  outputTokens: settings.AMBIT_EVALUATOR_OUTPUT_TOKENS,
  prices: settings.AMBIT_EVALUATOR_PRICES,
})
if (values['write-baseline']) {
  const path = new URL('judge-baseline.json', import.meta.url)
  writeFileSync(path, `${JSON.stringify(report, null, 2)}\n`)
}
if (values.json) console.log(JSON.stringify(report, null, 2))
else print()

function print(): void {
  const { model, labelled, injection, per1000 } = report
  const date = settings.AMBIT_EVALUATOR_PRICES_DATE
  const line = (name: string, { items, precision, recall, judged }: Score) =>
    console.log(
      `  ${name.padEnd(16)} ${String(items).padStart(4)} items  ` +
        `precision ${precision.toFixed(3)}  recall ${recall.toFixed(3)}  ` +
        `judged ${(judged * 100).toFixed(0)} %`,
    )
  console.log(`Judge ${model}`)
  for (const name of ['byLanguage', 'byKind', 'byHalf'] as const) {
    for (const [group, score] of Object.entries(labelled[name])) line(group, score)
  }
  line('all', labelled)
  console.log(
    `Per 1000 items: ${per1000.calls} calls, ${per1000.inputTokens} input tokens, ` +
      `${per1000.outputTokens} output tokens, cost ${per1000.cost}` +
      (date ? ` (prices of ${date})` : ' (no price table)'),
  )
  console.log(
    `precision ${labelled.precision.toFixed(3)}, recall ${labelled.recall.toFixed(3)}, ` +
      `false activations by injection ${injection.falseActivations} of ${injection.items}`,
  )
}
