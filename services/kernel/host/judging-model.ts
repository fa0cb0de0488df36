/** Which model judges semantic conditions, from configuration. */
import { createOpenAiStructuredModel } from '#kernel/adapters/openai/structured-completion.ts'
import type { StructuredModel } from '#kernel/ports/model.ts'
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

/** `offline` unless a server, a key or both are named, or where it is asked for by name. */
export function openJudgingModel(settings: Settings): JudgingModel {
  const { AMBIT_EVALUATOR_BASE_URL: url, AMBIT_EVALUATOR_API_KEY: key } = settings
  const { AMBIT_EVALUATOR_MODEL: name, AMBIT_EVALUATOR_FALLBACK_MODEL: fallback } = settings
  if (name === OFFLINE || (!url && !key)) return { model: undefined, names: [OFFLINE] }
  // Servers of one's own may take no key, and the client wants one.
  const model = createOpenAiStructuredModel({
    baseUrl: url ?? DEFAULT_BASE_URL,
    apiKey: key ?? 'none',
  })
  const first = name ?? DEFAULT_MODEL
  return { model, names: fallback && fallback !== first ? [first, fallback] : [first] }
}
