import type { Client } from '#services/client/create-client.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { formatTable } from '../format-table.ts'
import { UsageError } from '../usage-error.ts'

const DIMENSIONS = ['subscription', 'owner', 'tenant', 'day'] as const

/** `ambit usage [--by DIMENSION]`: what activations, polls, runs and judging have cost. */
export const usage: Command = {
  summary: 'Show what activations, polls, runs and judging have cost.',
  arguments: [],
  options: {
    by: { type: 'string', help: 'subscription, owner, tenant or day. Default subscription.' },
    since: { type: 'string', value: 'DAY', help: 'From this day of the tenant on.' },
    until: { type: 'string', value: 'DAY', help: 'Up to this day.' },
  },
  async run({ flags, client, output }) {
    const asked = flags.text('by') ?? 'subscription'
    const by = DIMENSIONS.find(each => each === asked)
    if (!by) {
      throw new UsageError('Usage cannot be summed up so.', {
        expected: DIMENSIONS.join(', '),
        came: asked,
      })
    }
    const [since, until] = [flags.text('since'), flags.text('until')]
    const rows = await Array.fromAsync(client().usage.items({ by, since, until }))
    if (output.isJson) output.json({ items: rows })
    else if (rows.length === 0) output.note('Nothing was used.')
    else {
      const names = by === 'subscription' ? await namesOf(client()) : undefined
      const columns = [
        ...(names ? [['NAME', 'name'] as const] : []),
        [by.toUpperCase(), by],
        ['ACTIVATIONS', 'activations'],
        ['POLLS', 'polls'],
        ['MODEL CALLS', 'calls'],
        ['TOKENS', 'totalTokens'],
        ['COST', 'cost'],
      ] as const
      const named = rows.map(row => ({ ...row, name: names?.get(String(row[by])) }))
      output.text(formatTable(columns, named))
      output.note("Costs are in the tenant's currency, by the price table.")
    }
    return EXIT.ok
  },
}

/** Names by id; a subscription that is long gone has none. */
async function namesOf({ subscriptions }: Client): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  for await (const { id, name } of subscriptions.list.items()) names.set(id, name)
  return names
}
