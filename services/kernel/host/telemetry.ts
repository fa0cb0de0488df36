/** Metrics of one process, with stable names; dashboards and alerts depend on them. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

export interface Telemetry {
  registry: Registry
  /** Events made durable by the door. */
  accepted: Counter<'door'>
  /** Candidates decided, by their fate; a repeat counts apart. */
  decisions: Counter<'fate' | 'stage'>
  repeats: Counter
  /** Ms from an event's acceptance to its decision. */
  decisionLatency: Histogram
  /** Lease operations, by name and outcome. */
  mailbox: Counter<'operation' | 'outcome'>
  /** Calls that tell an executor to claim, by outcome. */
  nudges: Counter<'outcome'>
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
    decisionLatency: new Histogram({
      name: 'ambit_decision_latency_ms',
      help: 'Ms from acceptance of an event to its decision.',
      buckets: [2, 5, 10, 20, 50, 100, 250, 500, 1000, 5000, 30_000],
      registers,
    }),
    mailbox: new Counter({
      name: 'ambit_mailbox_operations_total',
      help: 'Operations on mailboxes.',
      labelNames: ['operation', 'outcome'],
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
