/** Metrics of one process, with stable names; dashboards and alerts depend on them. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface Telemetry {
  registry: Registry
  /** Events made durable by the door. */
  accepted: Counter<'door'>
  /** Candidates decided, by their fate; a repeat counts apart. */
  decisions: Counter<'fate' | 'stage'>
  repeats: Counter
  /** Steps of messages through mailboxes, by the state reached. */
  transitions: Counter<'state'>
  /** Calls that tell an executor to claim, by outcome. */
  nudges: Counter<'outcome'>
  /** Polls of MCP servers, by how they ended. */
  polls: Counter<'outcome'>
  /** New and changed items that polls have found. */
  pollItems: Counter
  /** How late schedules are fired, in seconds after their instant and jitter. */
  scheduleLateness: Histogram
  /** Due instants that were not fired, by reason. */
  scheduleMissed: Counter<'reason'>
  /** 1 for the version of the zone database in use. */
  zoneDatabase: Gauge<'version'>
  /** How late polls begin, in seconds. */
  pollLateness: Histogram
  /** Calls of judging models, by what came back. */
  modelCalls: Counter<'model' | 'outcome'>
  /** Tokens that judging models counted, by direction. */
  modelTokens: Counter<'model' | 'direction'>
  /** Seconds that calls of judging models took. */
  modelSeconds: Histogram<'model'>
  /** Calls of judging models under way in this process. */
  modelCallsUnderWay: Gauge
  /** 1 while a judging model is left alone because it failed again and again. */
  modelBreakerOpen: Gauge<'model'>
  /** Seconds since the last heartbeat of the control plane. */
  policyAge: Gauge
}

/** A registry of its own, so that several hosts can live in one process. */
export function createTelemetry(): Telemetry {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry, prefix: 'ambit_process_' })
  return {
    registry,
    ...pipelineMetrics(registers),
    ...timeMetrics(registers),
    ...observationMetrics(registers),
  }
}

/** Events, decisions, messages, and how old the policy is. */
function pipelineMetrics(registers: Registry[]) {
  return {
    accepted: new Counter({
      name: 'ambit_events_accepted_total',
      help: 'Events made durable at the door.',
      labelNames: ['door'],
      registers,
    }),
    decisions: new Counter({
      name: 'ambit_decisions_total',
      help: 'Candidates that got a fate.',
      labelNames: ['fate', 'stage'],
      registers,
    }),
    repeats: new Counter({
      name: 'ambit_candidate_repeats_total',
      help: 'Candidates seen again.',
      registers,
    }),
    transitions: new Counter({
      name: 'ambit_mailbox_transitions_total',
      help: 'Steps of messages through mailboxes.',
      labelNames: ['state'],
      registers,
    }),
    nudges: new Counter({
      name: 'ambit_push_nudges_total',
      help: 'Calls that told an executor to claim.',
      labelNames: ['outcome'],
      registers,
    }),
    policyAge: new Gauge({
      name: 'ambit_policy_age_seconds',
      help: 'Seconds since the control plane was heard of.',
      registers,
    }),
  }
}

/** What the clock set off. */
function timeMetrics(registers: Registry[]) {
  return {
    scheduleLateness: new Histogram({
      name: 'ambit_schedule_lateness_seconds',
      help: 'How late schedules are fired.',
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600],
      registers,
    }),
    scheduleMissed: new Counter({
      name: 'ambit_schedule_missed_total',
      help: 'Due instants that were not fired.',
      labelNames: ['reason'],
      registers,
    }),
    zoneDatabase: new Gauge({
      name: 'ambit_tz_info',
      help: 'Version of the zone database in use.',
      labelNames: ['version'],
      registers,
    }),
  }
}

/** What was looked at and judged. */
function observationMetrics(registers: Registry[]) {
  return {
    polls: new Counter({
      name: 'ambit_mcp_polls_total',
      help: 'Polls of MCP servers, by how they ended.',
      labelNames: ['outcome'],
      registers,
    }),
    pollItems: new Counter({
      name: 'ambit_mcp_items_total',
      help: 'New and changed items found by polls.',
      registers,
    }),
    pollLateness: new Histogram({
      name: 'ambit_mcp_poll_lateness_seconds',
      help: 'How late polls begin.',
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60],
      registers,
    }),
    modelCalls: new Counter({
      name: 'ambit_model_calls_total',
      help: 'Calls of judging models.',
      labelNames: ['model', 'outcome'],
      registers,
    }),
    modelCallsUnderWay: new Gauge({
      name: 'ambit_model_calls_under_way',
      help: 'Calls of judging models under way.',
      registers,
    }),
    modelBreakerOpen: new Gauge({
      name: 'ambit_model_breaker_open',
      help: '1 while a judging model is left alone after failures.',
      labelNames: ['model'],
      registers,
    }),
    modelTokens: new Counter({
      name: 'ambit_model_tokens_total',
      help: 'Tokens of judging models.',
      labelNames: ['model', 'direction'],
      registers,
    }),
    modelSeconds: new Histogram({
      name: 'ambit_model_call_seconds',
      help: 'Duration of calls of judging models.',
      labelNames: ['model'],
      buckets: [0.1, 0.3, 1, 3, 10, 30, 100],
      registers,
    }),
  }
}
