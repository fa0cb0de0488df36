/**
 * Which model judges semantic conditions: what `AMBIT_EVALUATOR_…` says, else the agent's model,
 * else none.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createOpenAiStructuredModel } from '#kernel/adapters/openai/structured-completion.ts'
import type { StructuredModel } from '#kernel/ports/model.ts'
import { chooseModel } from './choose-model.ts'
import type { Configuration } from './configuration.ts'

/** Name of the lexical judge in verdicts and settings. */
export const OFFLINE = 'offline'

/** Model that is asked where a server or a key is named and no model. */
const DEFAULT_MODEL = 'gpt-4.1-mini'
const DEFAULT_BASE_URL = 'https://api.openai.com/v1'

/** Where judging goes, in the order in which models are asked. */
export interface JudgingModel {
  /** Undefined for the lexical judge, which calls nobody. */
  model: StructuredModel | undefined
  /** At least one name; only `offline` where there is no model. */
  names: string[]
}

type Settings = Pick<
  Configuration,
  | 'AMBIT_EVALUATOR_BASE_URL'
  | 'AMBIT_EVALUATOR_API_KEY'
  | 'AMBIT_EVALUATOR_MODEL'
  | 'AMBIT_EVALUATOR_FALLBACK_MODEL'
>

/** Variables and files of the agent's model; those of this process when omitted. */
interface AgentSettings {
  environment: Record<string, string | undefined>
  readFile(path: string): string | undefined
}

const OF_THIS_PROCESS: AgentSettings = {
  environment: process.env,
  readFile: path => (existsSync(path) ? readFileSync(path, 'utf8') : undefined),
}

/**
 * `offline` where neither the evaluator nor the agent has a model, or where it is asked for by
 * name.
 *
 * @throws AmbitError `invalid` where the agent's settings cannot be read.
 */
export function openJudgingModel(
  settings: Settings,
  agent: AgentSettings = OF_THIS_PROCESS,
): JudgingModel {
  const { AMBIT_EVALUATOR_BASE_URL: url, AMBIT_EVALUATOR_API_KEY: key } = settings
  const { AMBIT_EVALUATOR_MODEL: name, AMBIT_EVALUATOR_FALLBACK_MODEL: fallback } = settings
  if (name === OFFLINE) return { model: undefined, names: [OFFLINE] }
  if (!url && !key) {
    const choice = chooseModel(agent.environment, agent.readFile)
    if (choice.mode === 'mock') return { model: undefined, names: [OFFLINE] }
    const names = namesOf(name ?? choice.model, fallback)
    return { model: createOpenAiStructuredModel(choice), names }
  }
  // Servers of one's own may take no key, and the client wants one.
  const model = createOpenAiStructuredModel({
    baseUrl: url ?? DEFAULT_BASE_URL,
    apiKey: key ?? 'none',
  })
  return { model, names: namesOf(name ?? DEFAULT_MODEL, fallback) }
}

function namesOf(first: string, fallback: string | undefined): string[] {
  return fallback && fallback !== first ? [first, fallback] : [first]
}
