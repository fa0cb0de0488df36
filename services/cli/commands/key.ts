/** `key …`: credentials of people, agents and the platform. */
import type { KeyInput, Role } from '#services/client/api.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { UsageError } from '../usage-error.ts'

const KINDS = ['person', 'agent', 'platform'] as const

export const keyCreate: Command = {
  summary: 'Make an API key; it is shown once.',
  arguments: ['person|agent|platform', 'ID'],
  options: {
    role: { type: 'string', multiple: true, help: 'Role, once for each. See the roles below.' },
  },
  notes: ['Roles: admin, viewer, owner, approver, operator, producer, executor, platform.'],
  async run({ args: [word = '', id = ''], flags, client, output }) {
    const kind = KINDS.find(known => known === word)
    if (!kind) {
      throw new UsageError('There is no such kind of principal.', {
        expected: KINDS.join(', '),
        came: word,
      })
    }
    // The API knows the roles; a list here would be a second truth.
    const input: KeyInput = { principal: { kind, id }, roles: flags.texts('role') as Role[] }
    const created = await client().keys.create(input)
    if (output.isJson) output.json(created)
    else {
      output.text(created.key)
      output.note(`Key ${created.id}. It is not shown again.`)
    }
    return EXIT.ok
  },
}

export const keyDelete: Command = {
  summary: 'Delete API keys.',
  arguments: ['ID...'],
  async run({ args, client, output }) {
    for (const id of args) {
      const answer = await client().keys.delete(id)
      if (output.isJson) output.json(answer)
      else output.text(`key ${id} is deleted`)
    }
    return EXIT.ok
  },
}
