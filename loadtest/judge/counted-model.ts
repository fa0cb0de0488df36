/**
 * A model server of the tests, on the real wire format, that counts: who asked how often, and the
 * tokens of both sides by one rule. What it answers follows from the criterion and the items.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { costMicros, type Price, type Tokens } from '#kernel/domain/model-price.ts'
import { modelAnswer, modelServer } from '#test/support/model-server.ts'
import {
  type AskedItem,
  askedCriterion,
  askedItems,
  verdictFor,
} from '#test/support/scripted-judge.ts'

/** Whose calls are counted: each asks for a model of its own. */
export const JUDGE = 'bench-judge'
export const AGENT = 'bench-agent'

/** One price for both, as of a small model in 2026; money per million tokens. */
const PRICE = { input: '0.25', output: '2' }
const PRICES: Price[] = [JUDGE, AGENT].map(model => ({ model, ...PRICE }))
/** The same as settings of a process. */
export const PRICE_SETTINGS = {
  AMBIT_EVALUATOR_PRICES: `${JUDGE}=${PRICE.input}/${PRICE.output}`,
  AMBIT_EVALUATOR_PRICES_DATE: '2026-11-30',
}

/** English and JSON have about four characters per token. */
const CHARS_PER_TOKEN = 4
const tokensOf = (...texts: string[]) =>
  Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / CHARS_PER_TOKEN)

export interface Tally extends Tokens {
  calls: number
}

export interface CountedModel {
  baseUrl: string
  tally(model: string): Tally
  close(): Promise<void>
}

export interface CountedModelOptions {
  /** How long the judge's answers take, ms. */
  answerMs: number
  isMet(criterion: string, item: AskedItem): boolean
}

/** Starts it on loopback. */
export async function startCountedModel(options: CountedModelOptions): Promise<CountedModel> {
  const tallies = new Map<string, Tally>()
  const tallyOf = (model: string): Tally => {
    const known = tallies.get(model) ?? { calls: 0, inputTokens: 0, outputTokens: 0 }
    tallies.set(model, known)
    return known
  }
  const server = await modelServer(async asked => {
    const items = askedItems(asked)
    const criterion = askedCriterion(asked)
    const text = JSON.stringify({
      verdicts: items.map(item => verdictFor(item, options.isMet(criterion, item))),
    })
    const schema = JSON.stringify(asked.text.format.schema)
    const inputTokens = tokensOf(asked.instructions, asked.input, schema)
    const usage = { inputTokens, outputTokens: tokensOf(text) }
    const tally = tallyOf(asked.model)
    tally.calls += 1
    tally.inputTokens += usage.inputTokens
    tally.outputTokens += usage.outputTokens
    if (options.answerMs > 0 && asked.model === JUDGE) await delay(options.answerMs)
    return modelAnswer(text, usage)
  })
  return { baseUrl: server.baseUrl, tally: tallyOf, close: () => server.close() }
}

/** What the calls cost by the table, millionths. */
export function microsOf(model: string, tally: Tally): number {
  return costMicros(PRICES, model, tally)
}
