/** `pause`, `resume`, `approve`, `reject`: the lifecycle of a subscription. */
import type { Subscription } from '#services/client/api.ts'
import type { Command, CommandContext } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { withSubscription } from '../find-subscription.ts'
import { UsageError } from '../usage-error.ts'

const reason = { type: 'string', value: 'TEXT', help: 'Why; kept in the history.' } as const

export const pause: Command = {
  summary: 'Pause a subscription.',
  arguments: ['ID|NAME'],
  options: {
    reason,
    until: {
      type: 'string',
      value: 'INSTANT',
      help: 'End of the pause, such as 2026-12-01T09:00Z.',
    },
  },
  async run(context) {
    const { args, flags, client } = context
    const until = instantOf(flags.text('until'))
    const why = flags.required('reason')
    return changeAndShow(context, args, id => client().subscriptions.pause(id, why, until))
  },
}

export const resume: Command = {
  summary: 'Resume a paused or suspended subscription; it starts at now.',
  arguments: ['ID|NAME'],
  options: { reason },
  async run(context) {
    const { args, flags, client } = context
    return changeAndShow(context, args, id =>
      client().subscriptions.resume(id, flags.text('reason')),
    )
  },
}

export const approve: Command = {
  summary: 'Approve a subscription that waits for it.',
  arguments: ['ID|NAME'],
  options: { reason },
  async run(context) {
    const { args, flags, client } = context
    return changeAndShow(context, args, id =>
      client().subscriptions.approve(id, flags.text('reason')),
    )
  },
}

export const reject: Command = {
  summary: 'Reject a subscription that waits for approval; the requester reads the reason.',
  arguments: ['ID|NAME'],
  options: { reason },
  async run(context) {
    const { args, flags, client } = context
    const why = flags.required('reason')
    return changeAndShow(context, args, id => client().subscriptions.reject(id, why))
  },
}

async function changeAndShow(
  { client, output }: CommandContext,
  [given = '']: readonly string[],
  change: (id: string) => Promise<Subscription>,
) {
  const subscription = await withSubscription(client(), given, change)
  const { id, name, version, state } = subscription
  const until = state.until ? ` until ${state.until}` : ''
  if (output.isJson) output.json(subscription)
  else output.text(`${name} (${id}) is ${state.operation}${until}, ${state.approval}; v${version}`)
  return EXIT.ok
}

/** RFC 3339 with seconds, from anything `Date` reads. */
function instantOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const at = Date.parse(text)
  if (!Number.isNaN(at)) return new Date(at).toISOString()
  throw new UsageError('The option --until needs an instant.', {
    expected: 'an instant such as 2026-12-01T09:00:00Z',
    came: text,
  })
}
