import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { withSubscription } from '../find-subscription.ts'
import { formatTable } from '../format-table.ts'

const COLUMNS = [
  ['STEP', 'step'],
  ['OUTCOME', 'outcome'],
  ['EXPECTED', 'expected'],
  ['CAME', 'actual'],
  ['REASON', 'reason'],
] as const

/** `ambit explain SOURCE ID SUBSCRIPTION`: why it did, or did not, fire. */
export const explain: Command = {
  summary: 'Say why an event did, or did not, wake the agent of a subscription.',
  arguments: ['SOURCE', 'ID', 'SUBSCRIPTION'],
  async run({ args: [source = '', id = '', subscription = ''], client, output }) {
    const found = await withSubscription(client(), subscription, known =>
      client().explain({ source, id, subscription: known }),
    )
    if (output.isJson) {
      output.json(found)
      return EXIT.ok
    }
    const { fired, fate, steps } = found
    const end = fate === null ? 'The pair never matched.' : `Fate: ${fate}.`
    output.text(fired ? `It fired. ${end}` : `It did not fire. ${end}`)
    output.text(formatTable(COLUMNS, steps))
    return EXIT.ok
  },
}
