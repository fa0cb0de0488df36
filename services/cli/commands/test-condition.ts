import type { EventInput } from '#services/client/api.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { formatTable } from '../format-table.ts'
import { parseJson, readInput } from '../read-input.ts'

const COLUMNS = [
  ['EVENT', 'event.id'],
  ['FATE', 'fate'],
  ['OUTCOME', 'verdict.outcome'],
  ['CONFIDENCE', 'verdict.confidence'],
  ['REASON', 'reason'],
] as const

/** `ambit test ID`: a dry run. */
export const testCondition: Command = {
  summary: 'Judge events under a subscription without waking anybody.',
  arguments: ['ID'],
  options: {
    file: { type: 'string', short: 'f', value: 'FILE', help: 'A JSON list of events; - is stdin.' },
  },
  async run({ args: [id = ''], flags, client, output, world }) {
    const file = flags.text('file')
    const text = file === undefined ? undefined : await readInput(world, file)
    const events =
      text === undefined ? undefined : ([parseJson(text, file ?? '')].flat() as EventInput[])
    const tested = await client().subscriptions.test(id, events)
    if (output.isJson) output.json(tested)
    else output.text(formatTable(COLUMNS, tested.items))
    return EXIT.ok
  },
}
