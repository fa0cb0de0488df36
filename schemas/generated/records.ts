// Generated from schemas/avro by `node schemas/generate.ts`. Do not edit.

/** What became of a change. */
export interface Answer {
  changeId: string
  tenant: string
  status: number
  code: null | string
  body: unknown
  at: number
}

/** One change that was applied or refused. */
export interface AuditEntry {
  tenant: string
  kind: string
  id: string
  version: number
  action: string
  by: unknown
  reason: string
  /** applied or refused. */
  outcome: string
  /** Members that changed: pointer, before, after. */
  changes: unknown
  changeId: string
  at: number
}

/** One event that one subscription accepted, or a change marker of that subscription. */
export interface Candidate {
  /** candidate, marker or answer: a person's, to a verdict that waits. */
  kind: string
  tenant: string
  subscription: string
  /** Subscription version at matching, or the version a marker announces. */
  version: number
  /** Empty on a marker. */
  candidateId: string
  /** Empty on a marker. */
  occurrenceId: string
  event: null | EventRecord
  /** Where the event was read. */
  position: null | EventRef
  /** Reception, ms since the epoch. */
  recordedAt: null | number
  verdict: null | Verdict
  skipped: null | Skipped
  marker: null | Marker
  /** When this record was made, ms since the epoch. */
  at: number
}

/** One CloudEvent: typed attributes, and its data as the JSON text or bytes that came. */
export interface EventRecord {
  /** Context attributes, extensions included. */
  attributes: Record<string, boolean | number | string>
  /** Data as JSON text, kept as sent. */
  json: null | string
  /** Data as bytes (data_base64). */
  bytes: null | Uint8Array
  /** Set where a body over 8 KiB is carried by reference; json and bytes are then null. */
  ref: null | EventRef
}

/** Where the event lies in the log. */
export interface EventRef {
  topic: string
  partition: number
  offset: number
}

/** Structured judgement of a semantic condition. */
export interface Verdict {
  id: string
  /** matched, not-matched, ask or failed. */
  outcome: string
  confidence: number
  model: string
  cached: boolean
  /** Evidence, usage and reason. */
  body: unknown
}

/** Why no model was asked: the answer could not have led to a delivery. */
export interface Skipped {
  fate: string
  stage: string
  reason: string
  details: unknown
}

/** Lifecycle parts that the new version has. */
export interface Marker {
  changeId: string
  operation: string
  approval: string
}

/** A change that somebody asks the registry for. */
export interface Change {
  changeId: string
  tenant: string
  /** subscription, policy, source, agent or key. */
  kind: string
  id: string
  action: string
  body: unknown
  /** Principal that asks. */
  by: unknown
  reason: string
  /** Refused unless the object has this version. */
  ifVersion: null | number
  at: number
}

/** A record that could not be read or was refused, and why. */
export interface DeadLetter {
  id: string
  tenant: null | string
  topic: string
  partition: number
  offset: number
  key: null | Uint8Array
  value: null | Uint8Array
  headers: Record<string, Uint8Array>
  code: string
  reason: string
  at: number
}

/** The one fate of a candidate. */
export interface Decision {
  tenant: string
  candidateId: string
  occurrenceId: string
  subscription: string
  version: number
  policyVersion: number
  agent: string
  owner: string
  event: EventName
  fate: string
  stage: string
  reason: string
  details: unknown
  messageId: null | string
  groupKey: null | string
  verdictId: null | string
  /** How often the same event came again. */
  repeats: number
  /** Grows when the fate of the same candidate moves on. */
  seq: number
  at: number
  /** The encoded message of a delivery, or the event of a group member: what is needed to emit it again. */
  emit: null | Uint8Array
}

/** The identity of an event. */
export interface EventName {
  source: string
  id: string
  type: string
  time: null | string
}

/** What the guard remembers of one subscription. */
export interface GuardStateRecord {
  tenant: string
  subscription: string
  version: number
  state: unknown
  at: number
}

/** One step of a message through its mailbox. */
export interface MailboxTransition {
  tenant: string
  agent: string
  messageId: string
  subscription: null | string
  state: string
  /** Version of the message document; readers keep the highest. */
  version: number
  /** Version of the mailbox document; 0 where it did not change. */
  mailboxVersion: number
  attempt: number
  token: number
  leaseId: null | string
  executor: null | string
  session: null | string
  availableAt: null | number
  expiresAt: null | number
  reason: null | string
  run: unknown
  by: null | string
  at: number
}

/** The durable request in a mailbox. */
export interface Message {
  id: string
  /** activation or continuation. */
  kind: string
  tenant: string
  onBehalfOf: null | string
  agent: string
  session: null | string
  workspace: null | string
  subscription: null | SubscriptionName
  instruction: string
  events: Array<EventRecord>
  evidence: Array<Evidence>
  lineage: Array<Hop>
  candidateIds: Array<string>
  groupKey: null | string
  policyVersion: number
  createdAt: number
  expiresAt: null | number
  /** Runs of this subscription that may be leased at once; 0 means no bound. */
  concurrencyMax: number
  /** A continuation's input; null for activations. */
  input: unknown
}

/** The contract behind an activation. */
export interface SubscriptionName {
  id: string
  version: number
  name: string
  owner: string
}

/** A quote from untrusted content. */
export interface Evidence {
  quote: string
  source: string
  pointer: string
}

/** Who was woken, by which subscription, with which message. */
export interface Hop {
  subscription: string
  agent: string
  message: string
}

/** Something a person must be told; one per cause. */
export interface Notice {
  id: string
  tenant: string
  kind: string
  /** info, warning or critical. */
  severity: string
  cause: string
  owner: null | string
  subscription: null | string
  agent: null | string
  messageId: null | string
  text: string
  details: unknown
  at: number
}

/** How an attempt at a message ended. */
export interface Outcome {
  tenant: string
  subscription: string
  agent: string
  messageId: string
  /** done, failed, dead, cancelled or expired. */
  state: string
  ok: boolean
  stopReason: string
  attempt: number
  at: number
}

/** How far a subscription's schedule was decided; the highest instant wins. */
export interface ScheduleMark {
  tenant: string
  subscription: string
  /** Subscription version under which it was decided. */
  version: number
  /** Hash of the schedule's fields. */
  revision: string
  /** Every due instant up to this one was fired or ended as missed. */
  decidedMs: number
  /** Zone database under which the instants were computed. */
  tz: string
  /** The newest ones, oldest first. */
  gaps: Array<ScheduleGap>
  at: number
}

/** Due instants that were not fired, and why. */
export interface ScheduleGap {
  /** First of them. */
  fromMs: number
  /** Last of them. */
  toMs: number
  count: number
  reason: string
}

/** Full current state of one object; the highest version wins. */
export interface TableDocument {
  tenant: string
  kind: string
  id: string
  version: number
  deleted: boolean
  updatedAt: number
  doc: unknown
}

/** What became of a dry run, or how far a backtest is. */
export interface TrialResult {
  id: string
  tenant: string
  /** test or backtest. */
  kind: string
  /** done or failed; a backtest also estimated, running and cancelled. */
  state: string
  /** Why it failed. */
  reason: null | string
  /** Events with verdict and the fate that each would have had. */
  items: unknown
  /** What judging cost. */
  usage: unknown
  /** Of a backtest: estimate and how much is done; null for a test. */
  progress: unknown
  at: number
}

/** A dry run on its way from service to service; nothing of it is ever delivered. */
export interface Trial {
  id: string
  tenant: string
  /** test or backtest. */
  kind: string
  /** What has to be done next: observe, estimate, judge or decide. */
  stage: string
  /** The guard starts from what it remembers of the subscription; a draft from nothing. */
  isSaved: boolean
  /** The subscription in its stored form. */
  subscription: unknown
  /** Events with what is known about each so far. */
  items: unknown
  /** What judging has cost so far. */
  usage: unknown
  /** Principal that asks. */
  by: unknown
  at: number
}

/** What something cost. */
export interface Usage {
  tenant: string
  subscription: string
  owner: string
  agent: string
  /** Candidate or message id. */
  subject: string
  stage: string
  attempt: number
  activations: number
  inputTokens: number
  outputTokens: number
  calls: number
  /** Decimal, in the policy's currency. */
  cost: string
  /** Calendar day in the tenant's zone. */
  day: string
  at: number
}

/** One judgement of a candidate, for audits: the copy that travels is in the candidate. */
export interface VerdictRecord {
  id: string
  tenant: string
  subscription: string
  /** Subscription version whose criterion was asked. */
  version: number
  candidateId: string
  criterionHash: string
  promptVersion: string
  model: string
  /** matched, not-matched, ask or failed. */
  outcome: string
  confidence: number
  cached: boolean
  /** Calls made for this candidate so far. */
  attempts: number
  /** Evidence, reason, usage, latency; for a failure, why. */
  body: unknown
  at: number
}
