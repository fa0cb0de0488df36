import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `ambit rebuild`: the read model, from the topics. */
export const rebuild: Command = {
  summary: 'Delete the read model of console and API and build it again from the topics.',
  arguments: [],
  notes: ['Nothing is lost: the log is the truth. Lists are incomplete until it has caught up.'],
  async run({ client, output }) {
    const answer = await client().system.rebuild()
    if (output.isJson) output.json(answer ?? {})
    else output.text('The read model is being rebuilt; `ambit doctor` says when it has caught up.')
    return EXIT.ok
  },
}
