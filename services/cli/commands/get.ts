import type { Client } from '#services/client/create-client.ts'
import type { Command, CommandContext, Flags, OptionRow } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { formatTable } from '../format-table.ts'
import { FILTERS, KIND_NAMES, type Kind, kindOf, type Query } from '../object-kinds.ts'
import { UsageError } from '../usage-error.ts'

/** Most objects of one page, as the API has it. */
const PAGE_MAX = 200
const LIMIT_DEFAULT = 50

const optionOf = (filter: string) => filter.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

const FILTER_HELP: Record<(typeof FILTERS)[number], string> = {
  agent: 'Only of this agent.',
  state: 'Only in this state.',
  managedBy: 'Only with this label.',
  subscription: 'Only of this subscription.',
  event: 'Only of the event with this id.',
  source: 'Only of events of this source.',
  fate: 'Only with this fate.',
  since: 'From this instant (usage: day) on.',
  until: 'Before this instant (usage: to this day).',
  by: 'Usage by subscription, owner, tenant or day.',
  from: 'Schedule from this instant on.',
  to: 'Schedule to this instant.',
}

const filterOptions: Record<string, OptionRow> = Object.fromEntries(
  FILTERS.map(name => [optionOf(name), { type: 'string', help: FILTER_HELP[name] }]),
)

/** `ambit get KIND [ID]`. */
export const get: Command = {
  summary: 'List objects of a kind, or show one.',
  arguments: ['KIND', '[ID]'],
  options: {
    limit: { type: 'string', value: 'N', help: 'Show at most N. Default 50.' },
    all: { type: 'boolean', help: 'Show all, page after page.' },
    cursor: { type: 'string', help: 'Go on where a list ended.' },
    ...filterOptions,
  },
  notes: [`Kinds: ${KIND_NAMES.join(', ')}.`, 'history needs a subscription, messages an agent.'],
  async run(context) {
    const [name = '', id] = context.args
    const kind = kindOf(name)
    if (id !== undefined && !kind.parent) return showOne(context, kind, id)
    if (kind.parent && id === undefined) {
      throw new UsageError(`The kind ${name} needs to know of whom.`, {
        expected: `ambit get ${name} ${kind.parent}`,
      })
    }
    return showList(context, kind, id ?? '')
  },
}

async function showOne({ client, output }: CommandContext, kind: Kind, id: string) {
  if (!kind.get) {
    throw new UsageError(`Single objects of ${kind.names[0]} cannot be asked for.`, {
      expected: `ambit get ${kind.names[0]}`,
    })
  }
  const found = await kind.get(client(), id)
  if (output.isJson) output.json(found)
  else output.text(formatTable(kind.columns, [found]))
  return EXIT.ok
}

async function showList({ client, flags, output }: CommandContext, kind: Kind, parent: string) {
  const { items, next } = await collect(client(), kind, { parent, flags })
  if (output.isJson) output.json({ items, next: next ?? null })
  else if (items.length === 0) output.note(`No ${kind.names[0]}.`)
  else output.text(formatTable(columnsWithValues(kind, items), items))
  if (next && !output.isJson) output.note(`There are more: --all, or --cursor ${next}`)
  return EXIT.ok
}

/** Sums have one of their dimensions only; the columns of the others would be empty. */
function columnsWithValues({ names, columns }: Kind, items: object[]): Kind['columns'] {
  if (names[0] !== 'usage') return columns
  return columns.filter(([, path]) => items.some(item => path in item))
}

async function collect(
  client: Client,
  kind: Kind,
  { parent, flags }: { parent: string; flags: Flags },
): Promise<{ items: object[]; next?: string | null }> {
  if (!kind.page) {
    throw new UsageError(`A list of ${kind.names[0]} cannot be asked for.`, {
      expected: `ambit get ${kind.names[0]} ID`,
    })
  }
  const limit = flags.isSet('all') ? Infinity : (flags.count('limit', 1) ?? LIMIT_DEFAULT)
  const filters = filtersOf(kind, flags)
  const items: object[] = []
  let next: string | null | undefined = flags.text('cursor')
  do {
    const query: Query = { ...filters, limit: Math.min(limit - items.length, PAGE_MAX) }
    const page = await kind.page(client, next ? { ...query, cursor: next } : query, parent)
    items.push(...page.items)
    next = page.next
  } while (next && items.length < limit)
  return { items, next }
}

function filtersOf({ names, filters = [] }: Kind, flags: Flags): Query {
  const query: Query = {}
  for (const name of FILTERS) {
    const value = flags.text(optionOf(name))
    if (value === undefined) continue
    if (!filters.includes(name)) {
      throw new UsageError(`${names[0]} cannot be asked for by ${name}.`, {
        expected:
          filters.length > 0 ? filters.map(f => `--${optionOf(f)}`).join(', ') : 'no filter',
        came: `--${optionOf(name)}`,
      })
    }
    query[name] = value
  }
  return query
}
