/**
 * Which model answers. Four places are looked at in order, and the first that names one wins:
 * the file of `RESPONSES_CONFIG_PATH`, `.local.responses.toml`, `RESPONSES_*`, and a provider's own
 * key together with `RESPONSES_BASE_URL`.
 */
import { parse } from 'smol-toml'
import { z } from 'zod'
import { AmbitError } from '#kernel/errors.ts'

export interface ModelConfiguration {
  provider: 'openai' | 'azure'
  baseUrl: string
  apiKey: string
  model: string
  contextTokensMax: number
}

export type ModelChoice = { mode: 'mock' } | ({ mode: 'real' } & ModelConfiguration)

type Environment = Record<string, string | undefined>
/** Text of a file, or undefined where there is none. */
type ReadFile = (path: string) => string | undefined

export const LOCAL_FILE = '.local.responses.toml'
const DEFAULT_MODEL = 'gpt-5-mini'
const OPENAI_URL = 'https://api.openai.com/v1'
const CONTEXT_TOKENS = 128_000

const fileSchema = z.object({
  provider: z.enum(['openai', 'azure']).default('openai'),
  base_url: z.url().optional(),
  api_key: z.string().min(1).optional(),
  model: z.string().min(1).default(DEFAULT_MODEL),
  context_tokens: z.number().int().min(1000).default(CONTEXT_TOKENS),
})

/**
 * The model to use. `AGENT_MODEL_MODE` forces the mode.
 *
 * @throws AmbitError `invalid` for a file that cannot be read, and for `real` without a model.
 */
export function chooseModel(environment: Environment, readFile: ReadFile): ModelChoice {
  const mode = environment.AGENT_MODEL_MODE
  if (mode === 'mock') return { mode: 'mock' }
  const found =
    fromNamedFile(environment, readFile) ??
    fromLocalFile(environment, readFile) ??
    fromVariables(environment) ??
    fromProviderKey(environment)
  if (found) return { mode: 'real', ...found }
  if (mode !== 'real') return { mode: 'mock' }
  throw new AmbitError(
    'invalid',
    'AGENT_MODEL_MODE is real and no model is configured. Copy config.example.toml to ' +
      `${LOCAL_FILE}, or set RESPONSES_API_KEY.`,
  )
}

function fromNamedFile(environment: Environment, readFile: ReadFile) {
  const path = environment.RESPONSES_CONFIG_PATH
  if (!path) return undefined
  const text = readFile(path)
  if (text !== undefined) return fromToml(text, path, environment)
  throw new AmbitError('invalid', `RESPONSES_CONFIG_PATH names ${path}, which cannot be read.`)
}

function fromLocalFile(environment: Environment, readFile: ReadFile) {
  const text = readFile(LOCAL_FILE)
  return text === undefined ? undefined : fromToml(text, LOCAL_FILE, environment)
}

function fromToml(text: string, path: string, environment: Environment): ModelConfiguration {
  const given = membersOf(text, path)
  const parsed = fileSchema.safeParse(given)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new AmbitError('invalid', `${path}: ${issue?.path.join('.')}: ${issue?.message}.`)
  }
  const { provider, base_url, api_key, model, context_tokens } = parsed.data
  const reference = api_key?.startsWith('env:') ? environment[api_key.slice(4)] : api_key
  const apiKey = reference ?? keyOf(environment, provider)
  const baseUrl = base_url ?? (provider === 'openai' ? OPENAI_URL : undefined)
  if (!apiKey) throw new AmbitError('invalid', `${path}: api_key is missing, or names nothing.`)
  if (!baseUrl) throw new AmbitError('invalid', `${path}: base_url is missing.`)
  return { provider, baseUrl, apiKey, model, contextTokensMax: context_tokens }
}

/** The members may stand at the top or under `[responses]`. */
function membersOf(text: string, path: string): unknown {
  try {
    const document = parse(text)
    return document.responses ?? document
  } catch {
    throw new AmbitError('invalid', `${path} is no TOML. Compare it with config.example.toml.`)
  }
}

function fromVariables(environment: Environment): ModelConfiguration | undefined {
  const { RESPONSES_API_KEY: apiKey } = environment
  return apiKey ? withVariables(environment, providerOf(environment), apiKey) : undefined
}

function fromProviderKey(environment: Environment): ModelConfiguration | undefined {
  if (!environment.RESPONSES_BASE_URL) return undefined
  const provider = environment.RESPONSES_PROVIDER
    ? providerOf(environment)
    : environment.OPENAI_API_KEY
      ? 'openai'
      : 'azure'
  const apiKey = keyOf(environment, provider)
  return apiKey ? withVariables(environment, provider, apiKey) : undefined
}

function keyOf(environment: Environment, provider: 'openai' | 'azure'): string | undefined {
  const { RESPONSES_API_KEY, OPENAI_API_KEY, AZURE_OPENAI_API_KEY } = environment
  return RESPONSES_API_KEY || (provider === 'azure' ? AZURE_OPENAI_API_KEY : OPENAI_API_KEY)
}

function providerOf({ RESPONSES_PROVIDER: given }: Environment): 'openai' | 'azure' {
  if (given === undefined || given === '' || given === 'openai') return 'openai'
  if (given === 'azure') return 'azure'
  throw new AmbitError('invalid', 'RESPONSES_PROVIDER: expected openai or azure. Correct it.')
}

function withVariables(
  environment: Environment,
  provider: 'openai' | 'azure',
  apiKey: string,
): ModelConfiguration {
  const baseUrl = environment.RESPONSES_BASE_URL || (provider === 'openai' ? OPENAI_URL : '')
  if (!baseUrl) throw new AmbitError('invalid', 'RESPONSES_BASE_URL is needed for Azure. Set it.')
  const tokens = Number(environment.RESPONSES_CONTEXT_TOKENS || CONTEXT_TOKENS)
  const contextTokensMax = Number.isInteger(tokens) && tokens >= 1000 ? tokens : CONTEXT_TOKENS
  const model = environment.RESPONSES_MODEL || DEFAULT_MODEL
  return { provider, baseUrl, apiKey, model, contextTokensMax }
}
