/** The agent's settings: read once from the environment, checked, frozen. */
import { z } from 'zod'
import { AmbitError } from '#kernel/errors.ts'
import { priceTable } from '#kernel/host/price-table.ts'
import { LIMIT_SETTINGS } from './loop/turn-limits.ts'

const list = z.string().transform(text => text.split(',').filter(name => name !== ''))
const flag = z.enum(['true', 'false', '1', '0']).transform(text => text === 'true' || text === '1')
const ms = (max: number) => z.coerce.number().int().min(0).max(max)

/** Rows of the reference in docs/agents.md. */
export const AGENT_SETTINGS = {
  AGENT_ENABLED: flag.default(true).describe('Whether the embedded host starts the agent.'),
  AGENT_ID: z.string().min(1).default('assistant').describe('The agent whose mailbox it works.'),
  AGENT_MODEL_MODE: z
    .enum(['mock', 'real'])
    .optional()
    .describe('Forces the mode. Default: `real` where a model is configured, else `mock`.'),
  AGENT_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(8)
    .describe('Messages worked on at once, at most one per session.'),
  AGENT_API_URL: z
    .url()
    .optional()
    .describe('Address of the Ambit API. Default: this process itself.'),
  AGENT_API_KEY: z
    .string()
    .optional()
    .describe('Key of the agent. Default: the administrator of the embedded host.'),
  AGENT_TOOLS: list.prefault('*').describe('Tools that may be used, with commas; `*` is all.'),
  AGENT_WOKEN_TOOLS: list
    .prefault('*')
    .describe('The same for runs that an event woke, on top of the above.'),
  AGENT_WOKEN_SENSITIVE: z
    .enum(['ask', 'forbid'])
    .default('ask')
    .describe('Sensitive tools in runs that an event woke: a person is asked, or never.'),
  AGENT_ACCESS_API_URL: z
    .url()
    .optional()
    .describe('Where `provision_access_async` posts to. Default: the mock service.'),
  AGENT_TICKET_API_URL: z
    .url()
    .optional()
    .describe('Where `create_ticket_async` posts to. Default: the mock service.'),
  AGENT_MOCK_DELAY_MS: ms(60_000).default(1500).describe('Ms that the mock service takes.'),
  AGENT_MODEL_PRICES: priceTable
    .prefault('')
    .describe(
      'Price table, `model=input/output` with commas: money per million tokens, in the currency ' +
        'of the policy. Runs of a model that is missing report no cost.',
    ),
  AGENT_MODEL_PRICES_DATE: z.iso
    .date()
    .optional()
    .describe('Day on which the prices were looked up, `2026-11-30`; needed with them.'),
  ...LIMIT_SETTINGS,
}

const schema = z.object(AGENT_SETTINGS)
export type AgentConfiguration = Readonly<z.output<typeof schema>>

/**
 * The parsed settings; other variables are left alone.
 *
 * @throws AmbitError `invalid` with the variable and what was expected.
 */
export function readAgentConfiguration(
  environment: Record<string, string | undefined>,
): AgentConfiguration {
  const given = Object.keys(AGENT_SETTINGS).flatMap(name => {
    const value = environment[name]
    return value === undefined || value === '' ? [] : [[name, value] as const]
  })
  const parsed = schema.safeParse(Object.fromEntries(given))
  if (parsed.success) return Object.freeze(checked(parsed.data))
  const [issue] = parsed.error.issues
  throw new AmbitError('invalid', `${issue?.path.join('.')}: ${issue?.message}. Correct it.`)
}

function checked(settings: AgentConfiguration): AgentConfiguration {
  if (settings.AGENT_MODEL_PRICES.length === 0 || settings.AGENT_MODEL_PRICES_DATE) return settings
  throw new AmbitError(
    'invalid',
    'AGENT_MODEL_PRICES needs AGENT_MODEL_PRICES_DATE: prices change. Set it.',
  )
}

/** Does this installation want the agent in the embedded host? */
export function isAgentEnabled(environment: Record<string, string | undefined>): boolean {
  return readAgentConfiguration(environment).AGENT_ENABLED
}
