/** `deadletter …`: records that were refused. */
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { get } from './get.ts'

export const deadletterList: Command = {
  summary: 'List the records that were refused, with the reason.',
  arguments: [],
  options: get.options ?? {},
  run: context => get.run({ ...context, args: ['deadletters'] }),
}

export const deadletterRedrive: Command = {
  summary: 'Append refused records once more, after their cause was removed.',
  arguments: ['ID...'],
  async run({ args, client, output }) {
    for (const id of args) {
      const answer = await client().deadletter.redrive(id)
      if (output.isJson) output.json(answer)
      else output.text(`${id} was appended again`)
    }
    return EXIT.ok
  },
}
