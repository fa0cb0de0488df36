/**
 * The graph as data: which step reads which topics, consults which tables, and may write what.
 * Services are wired from their own code; a test holds both against each other, and the flow
 * diagram in docs/ is generated from here.
 */
import type { TopicName } from '#kernel/domain/topic-name.ts'

export interface StepRow {
  service: string
  /** Topics consumed; `ingress.ext.<tenant>` stands for one topic per tenant. */
  reads: (TopicName | 'ingress.ext.<tenant>')[]
  /** Compacted topics held as live tables. */
  tables: TopicName[]
  writes: TopicName[]
  /** What enters or leaves besides topics. */
  doors: string[]
}

export const STEPS = {
  ingest: {
    service: 'ingest',
    reads: [],
    tables: ['sources', 'policies', 'subscriptions', 'calendar.objects'],
    writes: [
      'ingress.platform',
      'ingress.webhook',
      'calendar.objects',
      'registry.changes',
      'notices',
    ],
    doors: ['POST /v1/events', 'POST /v1/webhooks/{name}', '/v1/calendars'],
  },
  scheduler: {
    service: 'scheduler',
    reads: ['subscriptions', 'schedule.marks', 'ingress.time', 'ingress.calendar'],
    tables: ['calendar.objects'],
    writes: ['ingress.time', 'ingress.calendar', 'schedule.marks', 'registry.changes', 'notices'],
    doors: [],
  },
  'mcp-poller': {
    service: 'mcp-poller',
    reads: ['cursors'],
    tables: ['subscriptions', 'sources', 'policies'],
    writes: ['ingress.mcp', 'cursors', 'registry.changes', 'notices', 'usage'],
    doors: ['MCP servers (Streamable HTTP, stdio)'],
  },
  match: {
    service: 'evaluator',
    reads: [
      'ingress.platform',
      'ingress.webhook',
      'ingress.time',
      'ingress.calendar',
      'ingress.mcp',
      'ingress.ext.<tenant>',
    ],
    tables: ['subscriptions', 'policies'],
    writes: ['candidates', 'evaluations', 'deadletter'],
    doors: [],
  },
  judge: {
    service: 'evaluator',
    reads: ['evaluations'],
    tables: ['subscriptions', 'policies'],
    writes: [
      'candidates',
      'verdicts',
      'usage',
      'evaluations',
      'registry.changes',
      'notices',
      'deadletter',
    ],
    doors: ['the judging model'],
  },
  guard: {
    service: 'guard',
    reads: ['candidates', 'outcomes'],
    tables: ['subscriptions', 'policies'],
    writes: [
      'decisions',
      'mailbox',
      'guard.state',
      'registry.changes',
      'notices',
      'usage',
      'deadletter',
    ],
    doors: [],
  },
  'trial-observe': {
    service: 'mcp-poller',
    reads: ['trials'],
    tables: ['sources', 'policies'],
    writes: ['trials', 'trials.results', 'usage', 'deadletter'],
    doors: ['MCP servers (Streamable HTTP, stdio)'],
  },
  'trial-judge': {
    service: 'evaluator',
    reads: ['trials'],
    tables: ['subscriptions', 'policies'],
    writes: ['trials', 'trials.results', 'usage', 'deadletter'],
    doors: [],
  },
  'trial-decide': {
    service: 'guard',
    reads: ['trials'],
    tables: ['subscriptions', 'policies'],
    writes: ['trials.results', 'deadletter'],
    doors: [],
  },
  trials: {
    service: 'control-plane',
    reads: ['trials.results'],
    tables: ['subscriptions', 'policies', 'sources', 'labels'],
    writes: ['trials', 'trials.results'],
    doors: ['POST /v1/test', 'POST /v1/subscriptions/{id}/test', '/v1/backtests'],
  },
  approvals: {
    service: 'control-plane',
    reads: [],
    tables: ['subscriptions', 'policies'],
    writes: ['evaluations'],
    doors: ['POST /v1/approvals/{id}, of asks'],
  },
  'label-watch': {
    service: 'control-plane',
    reads: ['labels', 'trials.results'],
    tables: ['subscriptions', 'policies', 'sources', 'labels'],
    writes: ['trials', 'notices', 'policies'],
    doors: [],
  },
  'mailbox-dispatcher': {
    service: 'mailbox-dispatcher',
    reads: ['mailbox'],
    tables: ['subscriptions', 'policies'],
    writes: [
      'mailbox',
      'mailbox.state',
      'outcomes',
      'ingress.platform',
      'notices',
      'usage',
      'deadletter',
    ],
    doors: ['POST /v1/mailboxes/{agent}/claim', 'POST /v1/messages/{id}/…'],
  },
  registry: {
    service: 'control-plane',
    reads: ['registry.changes'],
    tables: ['subscriptions', 'policies', 'sources'],
    writes: [
      'subscriptions',
      'policies',
      'sources',
      'labels',
      'registry.answers',
      'registry.changes',
      'audit',
      'candidates',
      'deadletter',
    ],
    doors: [
      '/v1/subscriptions',
      '/v1/policy',
      '/v1/agents',
      '/v1/sources',
      '/v1/connectors',
      '/v1/keys',
    ],
  },
  'read-model': {
    service: 'control-plane',
    reads: [
      'ingress.platform',
      'ingress.webhook',
      'ingress.time',
      'ingress.calendar',
      'ingress.mcp',
      'ingress.ext.<tenant>',
      'evaluations',
      'decisions',
      'mailbox',
      'mailbox.state',
      'notices',
      'usage',
      'audit',
      'deadletter',
      'schedule.marks',
    ],
    tables: ['subscriptions', 'policies', 'sources', 'calendar.objects', 'cursors'],
    writes: [],
    doors: ['/v1/decisions', '/v1/traces', '/v1/explain', '/v1/stream', '/'],
  },
  agent: {
    service: 'agent',
    reads: ['agent.operations'],
    tables: ['agent.sessions', 'agent.operations'],
    writes: ['agent.sessions', 'agent.operations', 'registry.changes'],
    doors: ['the mailbox API, as a client', '/chat', '/v1/agent/sessions/{session}'],
  },
} as const satisfies Record<string, StepRow>
