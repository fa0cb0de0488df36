import { stringify } from 'yaml'
import type { Subscription, SubscriptionInput } from '#services/client/api.ts'
import type { Client } from '#services/client/create-client.ts'
import type { NamedObjects } from '#services/client/object-calls.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

/** Members of a stored subscription that a person wrote. */
const WRITTEN = [
  'agent',
  'owner',
  'onBehalfOf',
  'instruction',
  'session',
  'workspace',
  'on',
  'schedule',
  'observe',
  'filters',
  'condition',
  'limits',
] as const satisfies (keyof SubscriptionInput)[]

/** Members of stored objects that the API adds and does not take back. */
const ADDED = ['id', 'tenant', 'version', 'stopped', 'createdAt', 'updatedAt', 'pins', 'changed']

/** `ambit export`: what `ambit apply` takes. */
export const exportObjects: Command = {
  summary: 'Write policy, agents, sources, connectors and subscriptions as a YAML file for apply.',
  arguments: [],
  options: {
    'managed-by': { type: 'string', value: 'LABEL', help: 'Only subscriptions of this label.' },
    'subscriptions-only': { type: 'boolean', help: 'Only subscriptions.' },
  },
  notes: ['Secrets are never in it: where one was given inline, put a reference in its place.'],
  async run({ client, flags, output }) {
    const managedBy = flags.text('managed-by')
    const isOnly = flags.isSet('subscriptions-only')
    const documents = [
      ...(isOnly ? [] : await objectDocuments(client())),
      ...(await subscriptionDocuments(client(), managedBy)),
    ]
    if (output.isJson) output.json({ items: documents })
    else output.text(documents.map(item => stringify(item, { lineWidth: 100 })).join('---\n'))
    return EXIT.ok
  },
}

async function objectDocuments(client: Client): Promise<object[]> {
  const policy = await client.policy.get()
  return [
    { kind: 'Policy', spec: written(policy) },
    ...(await namedDocuments('Agent', client.agents)),
    ...(await namedDocuments('Source', client.sources)),
    ...(await namedDocuments('Connector', client.connectors)),
  ]
}

async function namedDocuments<Input extends object>(
  kind: string,
  { list }: Pick<NamedObjects<Input>, 'list'>,
): Promise<object[]> {
  const objects = await Array.fromAsync(list.items())
  return objects.map(object => ({ kind, name: object.id, spec: written(object) }))
}

async function subscriptionDocuments(client: Client, managedBy?: string): Promise<object[]> {
  const query = managedBy === undefined ? {} : { managedBy }
  const found = await Array.fromAsync(client.subscriptions.list.items(query))
  return found.map(subscription => ({
    kind: 'Subscription',
    name: subscription.name,
    spec: spec(subscription),
  }))
}

function spec(subscription: Subscription): object {
  const members = WRITTEN.map(name => [name, subscription[name]] as const)
  return Object.fromEntries(members.filter(([, value]) => value !== undefined && value !== null))
}

function written(object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !ADDED.includes(name)))
}
