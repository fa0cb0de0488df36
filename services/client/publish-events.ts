/** Publishing CloudEvents over HTTP: structured for one event, batches for several. */
import type { Accepted, CloudEvent, EventInput } from './api.ts'
import type { Transport } from './transport.ts'

export interface PublishOptions {
  /** Handle of the caller's lease; agents must prove one with every event. */
  lease?: string
  signal?: AbortSignal
}

export type Publish = (
  events: EventInput | readonly EventInput[],
  options?: PublishOptions,
) => Promise<Accepted>

/** Progress of a flow that runs on the platform which hosts the agents. */
export interface Milestone {
  /** The platform's address, such as `/platform/flows`. */
  source: string
  flow: string
  /** One execution of the flow; with the milestone it names the occurrence. */
  run: string
  milestone: string
  id?: string
  time?: string
  data?: Record<string, unknown>
}

/** A change in a workspace of the platform which hosts the agents. */
export interface WorkspaceChange {
  /** The platform's address, such as `/platform/workspaces`. */
  source: string
  workspace: string
  /** What changed, such as a file or a page. */
  object: string
  change: string
  /** Version of the object after the change; with the object it names the occurrence. */
  revision?: string
  id?: string
  time?: string
  data?: Record<string, unknown>
}

/** Bounds of one batch; the server takes 100 events and 1 MiB. */
const BATCH = { items: 100, characters: 256 * 1024 }

/**
 * Publishes in order and resolves when all are durable. Events without an `id` get a random one
 * before the first attempt, so that attempts repeat the same event. Many events go in several
 * batches: when one is refused, those before it are accepted.
 */
export async function publishEvents(
  transport: Transport,
  events: EventInput | readonly EventInput[],
  { lease, signal }: PublishOptions = {},
): Promise<Accepted> {
  const headers: Record<string, string> = lease === undefined ? {} : { 'ambit-lease': lease }
  const send = (body: string, contentType: string) =>
    transport.json<Accepted>({
      method: 'POST',
      path: '/v1/events',
      body,
      contentType,
      headers,
      signal,
    })
  if (!isList(events)) {
    return send(JSON.stringify(completed(events)), 'application/cloudevents+json')
  }
  const accepted: Accepted['accepted'] = []
  for (const batch of batchesOf(events.map(event => JSON.stringify(completed(event))))) {
    const answer = await send(`[${batch.join(',')}]`, 'application/cloudevents-batch+json')
    accepted.push(...answer.accepted)
  }
  return { accepted }
}

/** `Array.isArray` does not narrow read-only arrays. */
function isList(events: EventInput | readonly EventInput[]): events is readonly EventInput[] {
  return Array.isArray(events)
}

function completed(event: EventInput): CloudEvent {
  const { id = crypto.randomUUID(), ...rest } = event
  return { ...rest, specversion: '1.0', id }
}

function batchesOf(events: string[]): string[][] {
  const batches: string[][] = []
  let characters = 0
  for (const event of events) {
    const batch = batches.at(-1)
    characters += event.length
    if (batch && batch.length < BATCH.items && characters <= BATCH.characters) batch.push(event)
    else {
      batches.push([event])
      characters = event.length
    }
  }
  return batches
}

/** The event `platform.flow.milestone`; needs a key of the role `platform`. */
export function milestoneEvent(given: Milestone): EventInput {
  const { source, flow, run, milestone, id, time, data } = given
  return {
    ...optional({ id, time }),
    source,
    type: 'platform.flow.milestone',
    subject: flow,
    dedupkey: `${flow}/${run}/${milestone}`,
    datacontenttype: 'application/json',
    data: { ...data, flow, run, milestone },
  }
}

/** The event `platform.workspace.changed`; needs a key of the role `platform`. */
export function workspaceChangeEvent(given: WorkspaceChange): EventInput {
  const { source, workspace, object, change, revision, id, time, data } = given
  const dedupkey = revision === undefined ? undefined : `${workspace}/${object}/${revision}`
  return {
    ...optional({ id, time, dedupkey }),
    source,
    type: 'platform.workspace.changed',
    subject: `${workspace}/${object}`,
    datacontenttype: 'application/json',
    data: { ...data, workspace, object, change, ...optional({ revision }) },
  }
}

function optional<T extends object>(members: T): Partial<T> {
  const given = Object.entries(members).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as Partial<T>
}
