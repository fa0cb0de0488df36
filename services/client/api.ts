/**
 * The HTTP contract in types, written by hand after the API page; the files beside hold them by
 * subject. Fields may be added by a server; nothing here goes away. Instants are RFC 3339 in UTC;
 * durations are whole milliseconds, last word `Ms`.
 */

export type {
  CalendarChange,
  CalendarFeed,
  CalendarObjectInput,
  CalendarSummary,
  StoredCalendarObject,
} from './api-calendar.ts'
export type {
  AuditEntry,
  DeadLetter,
  Decision,
  DecisionQuery,
  Explanation,
  Notice,
  ScheduleEntry,
  StreamEvent,
  SystemState,
  Trace,
  TraceHop,
  UsageRow,
} from './api-history.ts'
export type {
  Answered,
  ApprovalAnswer,
  AskApproval,
  Authorization,
  ClaimedMessage,
  ClaimInput,
  Continuation,
  Effect,
  Lease,
  MailboxSummary,
  Message,
  PendingApproval,
  Question,
  RunError,
  RunResult,
  Settlement,
} from './api-mailbox.ts'
export type {
  AgentInput,
  ConnectorInput,
  CreatedKey,
  Key,
  KeyInput,
  PolicyInput,
  Role,
  SourceInput,
  Stored,
} from './api-objects.ts'
export type {
  Accepted,
  ApplyItem,
  CloudEvent,
  EventIdentity,
  EventInput,
  Fate,
  Limits,
  Page,
  PageQuery,
  PendingChange,
  Subscription,
  SubscriptionInput,
  SubscriptionPatch,
  TestResult,
} from './api-subscription.ts'
