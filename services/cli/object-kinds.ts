/** The kinds that `get` and `describe` know: where they are read and which columns they show. */
import type { Page } from '#services/client/api.ts'
import type { Client } from '#services/client/create-client.ts'
import { CALENDAR_COLUMNS } from './commands/calendar.ts'
import { subscriptionId, withSubscription } from './find-subscription.ts'
import type { Column } from './format-table.ts'
import { systemLines } from './system-lines.ts'
import { UsageError } from './usage-error.ts'

export interface Query {
  limit?: number
  cursor?: string
  [filter: string]: string | number | undefined
}

export interface Kind {
  /** The first is the kind's name; the others are accepted too. */
  names: readonly [string, ...string[]]
  columns: readonly Column[]
  /** Filters of the list, as options of `get`. */
  filters?: readonly string[]
  /** One page of the list. `parent` is the positional argument where the kind needs one. */
  page?(client: Client, query: Query, parent: string): Promise<Page<object>>
  /** What the positional argument names where it is not the object's own id. */
  parent?: string
  /** One object. */
  get?(client: Client, id: string): Promise<object>
}

/** Options of `get` that some kinds take as filters. */
export const FILTERS = [
  'agent',
  'state',
  'managedBy',
  'subscription',
  'event',
  'source',
  'fate',
  'since',
  'until',
  'by',
  'from',
  'to',
] as const

const KINDS: readonly Kind[] = [
  {
    names: ['subscriptions', 'subscription', 'sub'],
    columns: [
      ['ID', 'id'],
      ['NAME', 'name'],
      ['AGENT', 'agent'],
      ['STATE', 'state.operation'],
      ['APPROVAL', 'state.approval'],
      ['VERSION', 'version'],
      ['LAST', 'last.fate'],
    ],
    filters: ['agent', 'state', 'managedBy'],
    page: (client, query) => client.subscriptions.list.page(query),
    get: (client, id) => withSubscription(client, id, known => client.subscriptions.get(known)),
  },
  {
    names: ['history'],
    columns: [
      ['AT', 'at'],
      ['VERSION', 'version'],
      ['ACTION', 'action'],
      ['BY', 'by.id'],
      ['REASON', 'reason'],
      ['CHANGES', 'changes'],
    ],
    parent: 'ID or name of a subscription',
    page: (client, query, id) =>
      withSubscription(client, id, known => client.subscriptions.history(known).page(query)),
  },
  {
    names: ['agents', 'agent'],
    columns: [
      ['ID', 'id'],
      ['NAME', 'name'],
      ['LEASES', 'maxConcurrentLeases'],
      ['ATTEMPTS', 'maxAttempts'],
      ['STOPPED', 'stopped.reason'],
    ],
    page: (client, query) => client.agents.list.page(query),
    get: (client, id) => client.agents.get(id),
  },
  {
    names: ['sources', 'source'],
    columns: [
      ['NAME', 'id'],
      ['KIND', 'kind'],
      ['SCHEME', 'verification.scheme'],
    ],
    page: (client, query) => client.sources.list.page(query),
    get: (client, name) => client.sources.get(name),
  },
  {
    names: ['connectors', 'connector'],
    columns: [
      ['NAME', 'id'],
      ['TRANSPORT', 'transport'],
    ],
    page: (client, query) => client.connectors.list.page(query),
    get: (client, name) => client.connectors.get(name),
  },
  {
    names: ['calendars', 'calendar'],
    columns: CALENDAR_COLUMNS,
    page: (client, query) => client.calendars.list.page(query),
    get: (client, name) => client.calendars.get(name),
  },
  {
    names: ['policy'],
    columns: [
      ['VERSION', 'version'],
      ['ZONE', 'zone'],
      ['CURRENCY', 'currency'],
      ['GRANTS', 'grants'],
    ],
    get: client => client.policy.get(),
    page: async client => ({ items: [await client.policy.get()] }),
  },
  {
    names: ['keys', 'key'],
    columns: [
      ['ID', 'id'],
      ['KIND', 'principal.kind'],
      ['PRINCIPAL', 'principal.id'],
      ['ROLES', 'roles'],
      ['CREATED', 'createdAt'],
    ],
    page: (client, query) => client.keys.list.page(query),
  },
  {
    names: ['decisions', 'decision'],
    columns: [
      ['AT', 'at'],
      ['FATE', 'fate'],
      ['STAGE', 'stage'],
      ['SUBSCRIPTION', 'subscription'],
      ['SOURCE', 'event.source'],
      ['EVENT', 'event.id'],
      ['REASON', 'reason'],
    ],
    filters: ['subscription', 'event', 'source', 'fate', 'since', 'until'],
    page: async (client, query) => {
      const { subscription: given } = query
      if (given === undefined) return client.decisions.page(query)
      const subscription = await subscriptionId(client, String(given))
      return client.decisions.page({ ...query, subscription })
    },
  },
  {
    names: ['mailboxes', 'mailbox'],
    columns: [
      ['AGENT', 'agent'],
      ['QUEUED', 'messages.queued'],
      ['LEASED', 'messages.leased'],
      ['FAILED', 'messages.failed'],
      ['DONE', 'messages.done'],
      ['DEAD', 'messages.dead'],
    ],
    page: (client, query) => client.mailboxes.list.page(query),
  },
  {
    names: ['messages'],
    columns: [
      ['ID', 'id'],
      ['KIND', 'kind'],
      ['STATE', 'state'],
      ['ATTEMPTS', 'attempts'],
      ['SUBSCRIPTION', 'subscription.name'],
      ['CREATED', 'createdAt'],
    ],
    filters: ['state'],
    parent: 'AGENT',
    page: (client, query, agent) => client.mailboxes.messages(agent).page(query),
  },
  {
    names: ['message'],
    columns: [
      ['ID', 'id'],
      ['AGENT', 'agent'],
      ['STATE', 'state'],
      ['ATTEMPTS', 'attempts'],
      ['SUBSCRIPTION', 'subscription.name'],
    ],
    get: (client, id) => client.mailboxes.message(id),
  },
  {
    names: ['approvals', 'approval'],
    columns: [
      ['ID', 'id'],
      ['KIND', 'kind'],
      ['AGENT', 'agent'],
      ['OWNER', 'owner'],
      ['ASKED', 'askedAt'],
      ['CONFIDENCE', 'confidence'],
      ['EVENT', 'event.id'],
      ['QUESTION', 'question'],
    ],
    page: (client, query) => client.mailboxes.approvals.page(query),
  },
  {
    names: ['notices', 'notice'],
    columns: [
      ['ID', 'id'],
      ['AT', 'at'],
      ['SEVERITY', 'severity'],
      ['KIND', 'kind'],
      ['TEXT', 'text'],
      ['ACK', 'ackAt'],
    ],
    page: (client, query) => client.notices.page(query),
  },
  {
    names: ['deadletters', 'deadletter'],
    columns: [
      ['ID', 'id'],
      ['AT', 'at'],
      ['TOPIC', 'topic'],
      ['CODE', 'code'],
      ['REASON', 'reason'],
      ['REDRIVEN', 'redrivenAt'],
    ],
    page: (client, query) => client.deadletter.page(query),
  },
  {
    names: ['audit'],
    columns: [
      ['AT', 'at'],
      ['KIND', 'kind'],
      ['ID', 'id'],
      ['ACTION', 'action'],
      ['OUTCOME', 'outcome'],
      ['BY', 'by.id'],
      ['REASON', 'reason'],
    ],
    page: (client, query) => client.audit.page(query),
  },
  {
    names: ['usage'],
    columns: [
      ['SUBSCRIPTION', 'subscription'],
      ['OWNER', 'owner'],
      ['DAY', 'day'],
      ['ACTIVATIONS', 'activations'],
      ['POLLS', 'polls'],
      ['MODEL CALLS', 'calls'],
      ['TOKENS', 'totalTokens'],
      ['COST', 'cost'],
    ],
    filters: ['by', 'since', 'until'],
    page: (client, query) => client.usage.page(query as object),
  },
  {
    names: ['schedule'],
    columns: [
      ['AT', 'at'],
      ['STATE', 'state'],
      ['NAME', 'name'],
      ['AGENT', 'agent'],
      ['MISSED', 'count'],
      ['REASON', 'reason'],
      ['SUBSCRIPTION', 'subscription'],
    ],
    filters: ['from', 'to'],
    page: (client, query) => client.schedule.page(query),
  },
  {
    names: ['system'],
    columns: [
      ['PART', 'part'],
      ['SERVICE', 'service'],
      ['STATE', 'state'],
      ['LAG', 'lag'],
      ['FOUND', 'found'],
    ],
    page: async client => ({ items: systemLines(await client.system.get()) }),
  },
]

/** Every kind's name, in the order of the table. */
export const KIND_NAMES = KINDS.map(({ names }) => names[0])

/** Throws `UsageError` for a kind that is none. */
export function kindOf(name: string): Kind {
  const kind = KINDS.find(({ names }) => names.includes(name.toLowerCase()))
  if (kind) return kind
  throw new UsageError(`There is no kind ${name}.`, {
    expected: KIND_NAMES.join(', '),
    came: name,
  })
}
