import type { StreamEvent } from '#services/client/api.ts'
import type { Command, Flags } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { subscriptionId } from '../find-subscription.ts'
import { memberAt } from '../format-table.ts'
import { UsageError } from '../usage-error.ts'

const KINDS = ['decision', 'notice', 'mailbox']

/** `ambit tail`: what happens, as it happens, until an interrupt. */
export const tail: Command = {
  summary: 'Follow decisions, notices and mailbox changes as they happen.',
  arguments: [],
  options: {
    kind: { type: 'string', multiple: true, help: 'decision, notice or mailbox. Default: all.' },
    subscription: { type: 'string', value: 'ID|NAME', help: 'Only of this subscription.' },
    agent: { type: 'string', help: 'Only notices and mailbox changes of this agent.' },
    fate: { type: 'string', help: 'Only decisions with this fate.' },
  },
  notes: ['With --json one JSON document a line.'],
  async run({ client, flags, output, world }) {
    const given = flags.text('subscription')
    const subscription = given && (await subscriptionId(client(), given))
    const isWanted = filterOf(flags, subscription)
    const onReconnect = () => output.note('The connection was lost; connecting again.')
    for await (const event of client().stream({ signal: world.interrupted, onReconnect })) {
      if (!isWanted(event)) continue
      if (output.isJson) output.json({ type: event.type, data: event.data })
      else output.text(lineOf(event))
    }
    return EXIT.ok
  },
}

function filterOf(flags: Flags, subscription?: string): (event: StreamEvent) => boolean {
  const kinds = flags.texts('kind')
  const unknown = kinds.find(kind => !KINDS.includes(kind))
  if (unknown !== undefined) {
    throw new UsageError('There is no such kind to follow.', {
      expected: KINDS.join(', '),
      came: unknown,
    })
  }
  const filters = ['subscription', 'agent', 'fate'].flatMap(name => {
    const value = name === 'subscription' ? subscription : flags.text(name)
    return value === undefined ? [] : [{ name, value }]
  })
  return ({ type, data }) =>
    (kinds.length === 0 || kinds.includes(type)) &&
    filters.every(({ name, value }) => memberAt(data, name) === value)
}

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  decision: ['at', 'fate', 'subscription', 'event.type', 'event.source', 'event.id', 'reason'],
  notice: ['at', 'severity', 'kind', 'text'],
  mailbox: ['at', 'state', 'agent', 'messageId', 'attempts'],
}

function lineOf({ type, data }: StreamEvent): string {
  const paths = COLUMNS[type]
  if (!paths) return `${type}  ${JSON.stringify(data)}`
  const [at, ...rest] = paths.map(path => String(memberAt(data, path) ?? '-'))
  return [at, type.padEnd(8), (rest[0] ?? '').padEnd(17), ...rest.slice(1)].join('  ').trimEnd()
}
