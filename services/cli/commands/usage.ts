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
    else {
      const columns = [
        [by.toUpperCase(), by],
        ['ACTIVATIONS', 'activations'],
        ['POLLS', 'polls'],
        ['MODEL CALLS', 'calls'],
        ['TOKENS', 'totalTokens'],
        ['COST', 'cost'],
      ] as const
      output.text(formatTable(columns, rows))
    }
    return EXIT.ok
  },
}
