/** `stop` and `start`: one agent, or the whole tenant, at once. */
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

const reason = { type: 'string', value: 'TEXT', help: 'Why; kept in the audit log.' } as const

export const stop: Command = {
  summary: 'Stop one agent, or the whole tenant without an argument.',
  arguments: ['[AGENT]'],
  options: { reason },
  async run({ args: [agent], flags, client, output }) {
    const why = flags.required('reason')
    const call = agent === undefined ? client().tenant.stop(why) : client().agents.stop(agent, why)
    const answer = await call
    if (output.isJson) output.json(answer)
    else output.text(`${agent ?? 'The tenant'} is stopped: nobody is woken there.`)
    return EXIT.ok
  },
}

export const start: Command = {
  summary: 'Start what was stopped.',
  arguments: ['[AGENT]'],
  options: { reason },
  async run({ args: [agent], flags, client, output }) {
    const why = flags.required('reason')
    const call =
      agent === undefined ? client().tenant.start(why) : client().agents.start(agent, why)
    const answer = await call
    if (output.isJson) output.json(answer)
    else output.text(`${agent ?? 'The tenant'} is started.`)
    return EXIT.ok
  },
}
