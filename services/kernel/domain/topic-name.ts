/**
 * The topics that Ambit's own services write. Their settings are in `topologies/topics.ts`, which
 * has a row for each of these names and for no other.
 */
export type TopicName =
  | 'ingress.webhook'
  | 'ingress.platform'
  | 'ingress.time'
  | 'ingress.calendar'
  | 'ingress.mcp'
  | 'registry.changes'
  | 'registry.answers'
  | 'audit'
  | 'subscriptions'
  | 'policies'
  | 'sources'
  | 'calendar.objects'
  | 'schedule.marks'
  | 'cursors'
  | 'guard.state'
  | 'evaluations'
  | 'candidates'
  | 'decisions'
  | 'usage'
  | 'outcomes'
  | 'mailbox'
  | 'mailbox.state'
  | 'notices'
  | 'deadletter'
