import type { EventInput } from '#services/client/api.ts'
import type { Command, CommandContext, Flags } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { parseJson, readInput } from '../read-input.ts'
import { UsageError } from '../usage-error.ts'

/** `ambit publish`: one event from options, or many from a file. */
export const publish: Command = {
  summary: 'Publish events.',
  arguments: [],
  options: {
    file: { type: 'string', short: 'f', value: 'FILE', help: 'JSON or JSON lines; - is stdin.' },
    source: { type: 'string', help: 'Attribute source, such as /shop/eu.' },
    type: { type: 'string', help: 'Attribute type, such as com.shop.ticket.created.' },
    id: { type: 'string', help: 'Attribute id. Default: a random one.' },
    subject: { type: 'string', help: 'Attribute subject.' },
    time: { type: 'string', help: 'Attribute time (RFC 3339).' },
    dedupkey: { type: 'string', help: 'Events with the same key are one occurrence.' },
    data: { type: 'string', value: 'JSON', help: 'The data; text that is not JSON is refused.' },
    lease: { type: 'string', value: 'HANDLE', help: 'Handle of the lease, for agents.' },
  },
  notes: [
    'ambit publish --source /shop --type com.shop.ticket.created --data \'{"total": 12}\'',
    'ambit publish -f events.json',
  ],
  async run(context) {
    const { client, flags, output } = context
    const events = await eventsOf(context)
    const lease = flags.text('lease')
    const { accepted } = await client().publish(events, lease === undefined ? {} : { lease })
    if (output.isJson) output.json({ accepted })
    else for (const { source, id } of accepted) output.text(`accepted ${source} ${id}`)
    return EXIT.ok
  },
}

async function eventsOf({ flags, world }: CommandContext): Promise<EventInput | EventInput[]> {
  const file = flags.text('file')
  if (file === undefined) return eventOf(flags)
  if (flags.text('source') ?? flags.text('type')) {
    throw new UsageError('Events come from a file or from options, not both.', {
      expected: '--file alone, or --source and --type',
    })
  }
  return parseEvents(await readInput(world, file), file)
}

function eventOf(flags: Flags): EventInput {
  const data = flags.text('data')
  const optional = ['id', 'subject', 'time', 'dedupkey'].flatMap(name => {
    const value = flags.text(name)
    return value === undefined ? [] : [[name, value]]
  })
  return {
    source: flags.required('source'),
    type: flags.required('type'),
    ...Object.fromEntries(optional),
    ...(data === undefined
      ? {}
      : { datacontenttype: 'application/json', data: parseJson(data, 'The option --data') }),
  }
}

/** One event, a list of events, or one event a line. The API checks what is in them. */
function parseEvents(text: string, file: string): EventInput[] {
  const lines = text.split('\n').filter(line => line.trim() !== '')
  const isLines = lines.length > 1 && lines.every(line => /^\s*\{.*\}\s*$/.test(line))
  const values = isLines
    ? lines.map((line, at) => parseJson(line, `${file}, line ${at + 1}`))
    : [parseJson(text, file)].flat()
  const wrong = values.findIndex(value => typeof value !== 'object' || value === null)
  if (values.length > 0 && wrong < 0) return values as EventInput[]
  throw new UsageError(`${file} holds no events.`, {
    expected: 'one event, a list of events, or one event a line, as JSON objects',
    came: values.length === 0 ? 'an empty list' : `another value at ${wrong}`,
  })
}
