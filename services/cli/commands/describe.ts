import { stringify } from 'yaml'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { kindOf } from '../object-kinds.ts'
import { UsageError } from '../usage-error.ts'

/** `ambit describe KIND ID`. */
export const describe: Command = {
  summary: 'Show everything about one object.',
  arguments: ['KIND', '[ID]'],
  notes: ['Kinds: subscription, agent, source, connector, message, policy (without an ID).'],
  async run({ args, client, output }) {
    const [name = '', id] = args
    const { get, names } = kindOf(name)
    if (!get) {
      throw new UsageError(`Single objects of ${names[0]} cannot be described.`, {
        expected: 'subscription, agent, source, connector, message or policy',
        came: name,
      })
    }
    if (id === undefined && names[0] !== 'policy') {
      throw new UsageError('An ID is needed.', { expected: `ambit describe ${name} ID` })
    }
    const found = await get(client(), id ?? '')
    if (output.isJson) output.json(found)
    else output.text(stringify(found, { lineWidth: 0 }))
    return EXIT.ok
  },
}
