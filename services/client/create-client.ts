/** The client of the Ambit API: publishing, management, what happened, and the executor. */
import type {
  Accepted,
  AuditEntry,
  DeadLetter,
  Decision,
  DecisionQuery,
  EventIdentity,
  Explanation,
  Notice,
  PageQuery,
  ScheduleEntry,
  StreamEvent,
  SystemState,
  Trace,
  UsageRow,
} from './api.ts'
import { type Backtests, backtestCalls } from './backtest-calls.ts'
import { type Calendars, calendarCalls } from './calendar-calls.ts'
import { type StreamOptions, streamEvents } from './event-stream.ts'
import type { Handler } from './handle-message.ts'
import { type Mailboxes, mailboxCalls } from './mailbox-calls.ts'
import {
  type Management,
  managementCalls,
  type Subscriptions,
  subscriptionCalls,
} from './object-calls.ts'
import { type Listing, listing } from './page-items.ts'
import {
  type Milestone,
  milestoneEvent,
  type Publish,
  type PublishOptions,
  publishEvents,
  type WorkspaceChange,
  workspaceChangeEvent,
} from './publish-events.ts'
import { createTransport, segment, type Transport, type TransportOptions } from './transport.ts'
import { type WorkOptions, workMailbox } from './work-mailbox.ts'

export interface Client extends Management, History {
  /** Resolves when the events are durable. */
  publish: Publish
  /** Publishes `platform.flow.milestone`; needs a key of the role `platform`. */
  publishMilestone(milestone: Milestone, options?: PublishOptions): Promise<Accepted>
  /** Publishes `platform.workspace.changed`; needs a key of the role `platform`. */
  publishWorkspaceChange(change: WorkspaceChange, options?: PublishOptions): Promise<Accepted>
  subscriptions: Subscriptions
  backtests: Backtests
  calendars: Calendars
  mailboxes: Mailboxes
  /** Decisions, notices and mailbox changes as they happen, over reconnections. */
  stream(options?: StreamOptions): AsyncGenerator<StreamEvent, void, undefined>
  /** Works on a mailbox until the signal aborts, then drains and resolves. */
  work(mailbox: string, handler: Handler, options: WorkOptions): Promise<void>
}

/** What happened, and what comes. */
export interface History {
  decisions: Listing<Decision, Omit<DecisionQuery, keyof PageQuery>>
  trace(event: EventIdentity): Promise<Trace>
  /** Also for pairs that never matched. */
  explain(pair: EventIdentity & { subscription: string }): Promise<Explanation>
  notices: Listing<Notice, unknown> & { ack(id: string): Promise<unknown> }
  deadletter: Listing<DeadLetter, unknown> & { redrive(id: string): Promise<unknown> }
  /** Every change asked for, newest first. */
  audit: Listing<AuditEntry, { kind?: string; id?: string; outcome?: string }>
  schedule: Listing<ScheduleEntry, { from?: string; to?: string }>
  /** `since` and `until` are days of the tenant's zone, inclusive. */
  usage: Listing<UsageRow, { by?: UsageDimension; since?: string; until?: string }>
  system: {
    get(): Promise<SystemState>
    /** Deletes the read model and builds it again from the topics. */
    rebuild(): Promise<unknown>
    /** `GET /readyz`: resolves when the service has caught up. */
    ready(): Promise<unknown>
  }
  /** Erases body and evidence of an event. */
  eraseEvent(event: EventIdentity): Promise<unknown>
}

export type UsageDimension = 'subscription' | 'owner' | 'tenant' | 'day'

/** Makes a client; nothing is sent before the first call. Every call rejects `ClientError`. */
export function createClient(options: TransportOptions): Client {
  const transport = createTransport(options)
  const mailboxes = mailboxCalls(transport)
  const publish: Publish = (events, more) => publishEvents(transport, events, more)
  return {
    ...managementCalls(transport),
    ...historyCalls(transport),
    publish,
    publishMilestone: (milestone, more) => publish(milestoneEvent(milestone), more),
    publishWorkspaceChange: (change, more) => publish(workspaceChangeEvent(change), more),
    subscriptions: subscriptionCalls(transport),
    backtests: backtestCalls(transport),
    calendars: calendarCalls(transport),
    mailboxes,
    stream: more => streamEvents(transport, '/v1/stream', more),
    work: (mailbox, handler, more) =>
      workMailbox({ transport, mailboxes, publish }, mailbox, handler, more),
  }
}

function historyCalls(transport: Transport): History {
  const get = <T>(path: string, query: object = {}) =>
    transport.json<T>({ method: 'GET', path, query: { ...query } })
  const post = (path: string) => transport.json({ method: 'POST', path, body: {} })
  return {
    decisions: listing(transport, '/v1/decisions'),
    trace: ({ source, id }) => get('/v1/traces', { source, id }),
    explain: ({ source, id, subscription }) => get('/v1/explain', { source, id, subscription }),
    notices: {
      ...listing<Notice>(transport, '/v1/notices'),
      ack: id => post(`/v1/notices/${segment(id)}/ack`),
    },
    deadletter: {
      ...listing<DeadLetter>(transport, '/v1/deadletter'),
      redrive: id => post(`/v1/deadletter/${segment(id)}/redrive`),
    },
    audit: listing(transport, '/v1/audit'),
    schedule: listing(transport, '/v1/schedule'),
    usage: listing(transport, '/v1/usage'),
    system: {
      get: () => get('/v1/system'),
      rebuild: () => post('/v1/system/rebuild'),
      ready: () => transport.json({ method: 'GET', path: '/readyz', attemptsMax: 1 }),
    },
    eraseEvent: ({ source, id }) =>
      transport.json({ method: 'DELETE', path: '/v1/events', query: { source, id } }),
  }
}
