/** What a person sees of planes and services: alive, caught up, how far behind. */
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import { STEPS, type StepRow } from '#topologies/proactivity.ts'

/** Steps that consume as a group of their name. */
const GROUPS = ['match', 'guard', 'mailbox-dispatcher', 'registry'] as const

export async function systemState(
  { log, tables }: { log: EventLog; tables: LiveTables },
  continuityMs: number,
): Promise<Record<string, unknown>> {
  const heartbeatAgeMs = Math.round(tables.heartbeatAgeMs())
  const steps = await Promise.all(GROUPS.map(name => stepState(log, name)))
  return {
    planes: {
      control: { alive: heartbeatAgeMs <= 30_000, heartbeatAgeMs },
      execution: {
        state: heartbeatAgeMs <= continuityMs ? 'running' : 'waiting for policy',
        continuityMs,
      },
    },
    steps,
  }
}

async function stepState(log: EventLog, name: (typeof GROUPS)[number]) {
  const row: StepRow = STEPS[name]
  const topics = row.reads.filter(topic => topic !== 'ingress.ext.<tenant>')
  const lag = await log.lag(name, topics)
  const behind = lag.reduce((sum, each) => sum + each.lag, 0)
  return { step: name, service: row.service, lag: behind, caughtUp: behind === 0 }
}
