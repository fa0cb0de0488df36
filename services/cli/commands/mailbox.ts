/** `mailbox …`: what an executor does, by hand. */
import type { RunResult, Settlement } from '#services/client/api.ts'
import type { Command, CommandContext } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { formatTable } from '../format-table.ts'
import { parseJson } from '../read-input.ts'
import { get } from './get.ts'

const handle = { type: 'string', value: 'HANDLE', help: 'Handle that claim printed.' } as const

export const mailboxList: Command = {
  summary: 'List mailboxes, or the messages of one.',
  arguments: ['[AGENT]'],
  options: get.options ?? {},
  run: context => {
    const [agent] = context.args
    const args = agent === undefined ? ['mailboxes'] : ['messages', agent]
    return get.run({ ...context, args })
  },
}

const CLAIMED = [
  ['ID', 'message.id'],
  ['KIND', 'message.kind'],
  ['ATTEMPT', 'attempt'],
  ['TOKEN', 'lease.token'],
  ['EXPIRES', 'lease.expiresAt'],
  ['INSTRUCTION', 'message.instruction'],
] as const

export const mailboxClaim: Command = {
  summary: 'Claim messages under a lease.',
  arguments: ['AGENT'],
  options: {
    executor: { type: 'string', value: 'NAME', help: 'Who works. Default: cli' },
    'lease-ms': { type: 'string', value: 'MS', help: 'Length of the lease. Default 30000.' },
    'wait-ms': { type: 'string', value: 'MS', help: 'Wait for a first message. Default 0.' },
    max: { type: 'string', value: 'N', help: 'Claim at most N. Default 1.' },
  },
  async run({ args: [agent = ''], flags, client, output, world }) {
    const input = {
      executor: flags.text('executor') ?? 'cli',
      leaseMs: flags.count('lease-ms', 1) ?? 30_000,
      waitMs: flags.count('wait-ms') ?? 0,
      max: flags.count('max', 1) ?? 1,
    }
    const items = await client().mailboxes.claim(agent, input, { signal: world.interrupted })
    if (output.isJson) output.json({ items })
    else if (items.length === 0) output.note(`Nothing to claim for ${agent}.`)
    else {
      output.text(formatTable(CLAIMED, items))
      // A handle is long and must be whole, so it stands on a line of its own.
      for (const { message, lease } of items)
        output.text(`handle of ${message.id}: ${lease.handle}`)
    }
    return EXIT.ok
  },
}

export const mailboxComplete: Command = {
  summary: 'Complete a claimed message.',
  arguments: ['ID'],
  options: {
    handle,
    output: { type: 'string', value: 'TEXT', help: 'What came out of the run.' },
    result: { type: 'string', value: 'JSON', help: 'The whole result, instead of --output.' },
  },
  async run(context) {
    const { args, flags, client } = context
    const text = flags.text('result')
    const output = flags.text('output')
    const result: RunResult =
      text === undefined
        ? { ok: true, stopReason: 'completed', ...(output === undefined ? {} : { output }) }
        : (parseJson(text, 'The option --result') as RunResult)
    const { mailboxes } = client()
    return shown(context, await mailboxes.complete(args[0] ?? '', flags.required('handle'), result))
  },
}

export const mailboxFail: Command = {
  summary: 'Fail a claimed message, for another attempt or for good.',
  arguments: ['ID'],
  options: {
    handle,
    error: { type: 'string', value: 'TEXT', help: 'What went wrong.' },
    permanent: { type: 'boolean', help: 'No other attempt: the message is dead.' },
  },
  async run(context) {
    const { args, flags, client } = context
    const failure = { error: flags.required('error'), retryable: !flags.isSet('permanent') }
    const { mailboxes } = client()
    return shown(context, await mailboxes.fail(args[0] ?? '', flags.required('handle'), failure))
  },
}

export const mailboxRedrive: Command = {
  summary: 'Give a dead message new attempts.',
  arguments: ['ID'],
  run: async context =>
    shown(context, await context.client().mailboxes.redrive(context.args[0] ?? '')),
}

export const mailboxCancel: Command = {
  summary: 'Cancel a message that is not settled.',
  arguments: ['ID'],
  options: { reason: { type: 'string', value: 'TEXT', help: 'Why.' } },
  run: async context => {
    const { args, flags, client } = context
    return shown(context, await client().mailboxes.cancel(args[0] ?? '', flags.text('reason')))
  },
}

function shown({ output }: CommandContext, settlement: Settlement) {
  const { id, state, attempts, availableAt } = settlement
  const again = availableAt ? `, again at ${availableAt}` : ''
  if (output.isJson) output.json(settlement)
  else output.text(`${id} is ${state} after ${attempts} attempts${again}`)
  return EXIT.ok
}
