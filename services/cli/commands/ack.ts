import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** `ambit ack ID...`: notices that were read. */
export const ack: Command = {
  summary: 'Acknowledge notices.',
  arguments: ['ID...'],
  async run({ args, client, output }) {
    for (const id of args) {
      const notice = await client().notices.ack(id)
      if (output.isJson) output.json(notice)
      else output.text(`${id} is acknowledged`)
    }
    return EXIT.ok
  },
}
