/**
 * The single catalogue of topics. The broker set-up, the chart's topic resources, the flow
 * diagram and every service read it; nothing else names a topic's settings.
 */
import type { TopicName } from '#kernel/domain/topic-name.ts'

/** Avro record that a topic's values hold; `event` means a CloudEvent of producers. */
export type RecordName =
  | 'event'
  | 'candidate'
  | 'decision'
  | 'message'
  | 'mailbox-transition'
  | 'outcome'
  | 'notice'
  | 'change'
  | 'answer'
  | 'table-document'
  | 'guard-state'
  | 'schedule-mark'
  | 'usage'
  | 'verdict'
  | 'trial'
  | 'trial-result'
  | 'dead-letter'
  | 'audit-entry'

/** What selects a record's partition. */
export type Partitioning = 'key' | 'subscription' | 'session' | 'producer'

export interface TopicRow {
  record: RecordName
  /** Prose for documents: what the key is. */
  key: string
  partitioning: Partitioning
  cleanup: 'delete' | 'compact'
  /** Milliseconds; -1 keeps for ever. Meaningless on compacted topics. */
  retentionMs: number
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

const ingress = { record: 'event', key: 'tenant + partitionkey, else source/subject' } as const
const occurrence = { record: 'event', key: 'tenant/kind/id', partitioning: 'key' } as const
const table = { record: 'table-document', key: 'tenant/kind/id', cleanup: 'compact' } as const
/** Of one session in one partition, so that one replica of the agent works on it. */
const sessionTable = {
  ...table,
  partitioning: 'session',
  retentionMs: -1,
} as const

export const TOPICS = {
  'ingress.webhook': { ...ingress, partitioning: 'key', cleanup: 'delete', retentionMs: 7 * DAY },
  'ingress.platform': { ...ingress, partitioning: 'key', cleanup: 'delete', retentionMs: 7 * DAY },
  // In the partition of its subscription, so that the owner of one reads its own tail.
  'ingress.time': { ...occurrence, cleanup: 'delete', retentionMs: 7 * DAY },
  'ingress.calendar': { ...occurrence, cleanup: 'delete', retentionMs: 7 * DAY },
  'ingress.mcp': { ...ingress, partitioning: 'key', cleanup: 'delete', retentionMs: 7 * DAY },
  'registry.changes': {
    record: 'change',
    key: 'tenant/kind/id',
    partitioning: 'key',
    cleanup: 'delete',
    retentionMs: -1,
  },
  'registry.answers': {
    record: 'answer',
    key: 'change id',
    partitioning: 'key',
    cleanup: 'delete',
    retentionMs: HOUR,
  },
  audit: {
    record: 'audit-entry',
    key: 'tenant/kind/id',
    partitioning: 'key',
    cleanup: 'delete',
    retentionMs: -1,
  },
  subscriptions: { ...table, partitioning: 'key', retentionMs: -1 },
  policies: { ...table, partitioning: 'key', retentionMs: -1 },
  sources: { ...table, partitioning: 'key', retentionMs: -1 },
  'calendar.objects': {
    ...table,
    key: 'tenant/calendar-object/calendar/uid, tenant/calendar-feed/calendar',
    partitioning: 'key',
    retentionMs: -1,
  },
  'schedule.marks': {
    record: 'schedule-mark',
    key: 'tenant/kind/id',
    partitioning: 'key',
    cleanup: 'compact',
    retentionMs: -1,
  },
  // The owner of a partition makes its polls.
  cursors: { ...table, partitioning: 'key', retentionMs: -1 },
  'guard.state': {
    record: 'guard-state',
    key: 'tenant/subscription',
    partitioning: 'subscription',
    cleanup: 'compact',
    retentionMs: -1,
  },
  evaluations: {
    record: 'candidate',
    key: 'tenant/subscription',
    partitioning: 'subscription',
    cleanup: 'delete',
    retentionMs: 8 * DAY,
  },
  candidates: {
    record: 'candidate',
    key: 'tenant/subscription',
    partitioning: 'subscription',
    cleanup: 'delete',
    retentionMs: 8 * DAY,
  },
  decisions: {
    record: 'decision',
    key: 'tenant/subscription',
    partitioning: 'subscription',
    cleanup: 'delete',
    retentionMs: 30 * DAY,
  },
  verdicts: {
    record: 'verdict',
    key: 'tenant/subscription',
    partitioning: 'subscription',
    cleanup: 'delete',
    retentionMs: 30 * DAY,
  },
  usage: {
    record: 'usage',
    key: 'tenant/subscription',
    partitioning: 'subscription',
    cleanup: 'delete',
    retentionMs: 30 * DAY,
  },
  outcomes: {
    record: 'outcome',
    key: 'tenant/subscription',
    partitioning: 'subscription',
    cleanup: 'delete',
    retentionMs: 30 * DAY,
  },
  mailbox: {
    record: 'message',
    key: 'tenant/agent',
    partitioning: 'key',
    cleanup: 'delete',
    retentionMs: 30 * DAY,
  },
  'mailbox.state': {
    record: 'mailbox-transition',
    key: 'tenant/agent',
    partitioning: 'key',
    cleanup: 'delete',
    retentionMs: 31 * DAY,
  },
  notices: {
    record: 'notice',
    key: 'tenant/owner',
    partitioning: 'key',
    cleanup: 'delete',
    retentionMs: 30 * DAY,
  },
  labels: { ...table, partitioning: 'key', retentionMs: -1 },
  trials: {
    record: 'trial',
    key: 'tenant/trial',
    partitioning: 'key',
    cleanup: 'delete',
    retentionMs: DAY,
  },
  'trials.results': {
    record: 'trial-result',
    key: 'tenant/trial',
    partitioning: 'key',
    cleanup: 'delete',
    retentionMs: DAY,
  },
  'agent.sessions': { ...sessionTable, key: 'tenant/session' },
  'agent.operations': { ...sessionTable, key: 'tenant/kind/session/id' },
  deadletter: {
    record: 'dead-letter',
    key: 'original key',
    partitioning: 'key',
    cleanup: 'delete',
    retentionMs: 30 * DAY,
  },
} as const satisfies Record<TopicName, TopicRow>

/** Outside producers publish to `ingress.ext.<tenant>`, one topic per tenant. */
export const EXT_INGRESS_PREFIX = 'ingress.ext.'

/** Settings of every `ingress.ext.<tenant>`. */
export const EXT_INGRESS: TopicRow = {
  record: 'event',
  key: "the producer's choice",
  partitioning: 'producer',
  cleanup: 'delete',
  retentionMs: 7 * DAY,
}

/** Compacted topics that carry the control plane's heartbeat. */
export const TABLE_TOPICS = ['subscriptions', 'policies', 'sources'] as const

/** Topics whose events a subscription may match, besides `ingress.ext.<tenant>`. */
export const INGRESS_TOPICS = [
  'ingress.webhook',
  'ingress.platform',
  'ingress.time',
  'ingress.calendar',
  'ingress.mcp',
] as const

/** The tenant of an `ingress.ext.<tenant>` topic, or undefined for any other topic. */
export function extTenant(topic: string): string | undefined {
  return topic.startsWith(EXT_INGRESS_PREFIX) ? topic.slice(EXT_INGRESS_PREFIX.length) : undefined
}

/** The catalogue row of a topic, or undefined for one that Ambit does not know. */
export function topicRow(topic: string): TopicRow | undefined {
  if (extTenant(topic)) return EXT_INGRESS
  return Object.hasOwn(TOPICS, topic) ? TOPICS[topic as TopicName] : undefined
}
