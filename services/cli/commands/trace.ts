import type { TraceHop } from '#services/client/api.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { formatTable } from '../format-table.ts'

/** `ambit trace SOURCE ID`: an event's way, hop by hop. */
export const trace: Command = {
  summary: "Show an event's way from its acceptance to the runs it caused.",
  arguments: ['SOURCE', 'ID'],
  async run({ args: [source = '', id = ''], client, output }) {
    const found = await client().trace({ source, id })
    if (output.isJson) {
      output.json(found)
      return EXIT.ok
    }
    const { event, hops } = found
    output.text(`${'type' in event ? event.type : 'event'}  ${event.source}  ${event.id}`)
    const start = Date.parse(hops[0]?.at ?? '')
    output.text(
      formatTable(
        COLUMNS,
        hops.map(hop => rowOf(hop, start)),
      ),
    )
    if (hops.every(({ hop }) => hop === 'accepted')) {
      output.note('No subscription matched. `ambit explain SOURCE ID SUBSCRIPTION` says why not.')
    }
    return EXIT.ok
  },
}

const COLUMNS = [
  ['AT', 'at'],
  ['AFTER', 'after'],
  ['HOP', 'hop'],
  ['WHAT', 'what'],
] as const

/** The facts a person looks for first; the others are in `--json`. */
const FACTS = [
  ...['fate', 'stage', 'decision', 'by', 'reason', 'outcome'],
  ...['stopReason', 'ok', 'agent', 'attempt'],
]
const LINKS = ['subscription', 'messageId', 'topic']

function rowOf(hop: TraceHop, start: number) {
  const facts = [...FACTS, ...LINKS].flatMap(name => {
    const value = hop[name]
    return value === undefined || value === null || value === '' ? [] : [`${name}=${String(value)}`]
  })
  return {
    at: hop.at,
    after: `${Date.parse(hop.at) - start} ms`,
    hop: hop.hop,
    what: facts.join(' '),
  }
}
