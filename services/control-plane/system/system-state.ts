/** What a person sees of planes and services: alive, caught up, how far behind. */
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import { STEPS, type StepRow } from '#topologies/proactivity.ts'
import type { JudgingState } from '../read-model/judging-query.ts'
import type { FollowedLag } from './follow-lag.ts'
import type { ObservationLag } from './observation-lag.ts'
import type { ScheduleLag } from './schedule-lag.ts'

/** Steps that consume as a group of their name. */
const GROUPS = [
  'match',
  'judge',
  'guard',
  'mailbox-dispatcher',
  'registry',
  'trial-observe',
  'trial-judge',
  'trial-decide',
] as const

export interface SystemWorld {
  log: EventLog
  tables: LiveTables
  lag: FollowedLag
  judging(nowMs: number): JudgingState
  /** Ms since the epoch. */
  now(): number
  continuityMs: number
}

/** `behind` its time or its topic; `degraded`: it works, and something that it needs does not. */
export type ServiceWord = 'ok' | 'behind' | 'degraded'

/**
 * Planes, steps with their lag in records, and the services whose lag is no number of records.
 * Everything is told from the topics, so it is the same whichever process runs what.
 */
export async function systemState(world: SystemWorld): Promise<Record<string, unknown>> {
  const { log, tables, lag, continuityMs } = world
  const nowMs = world.now()
  const heartbeatAgeMs = Math.round(tables.heartbeatAgeMs())
  const steps = await Promise.all(GROUPS.map(name => stepState(log, name)))
  const waiting = steps.find(({ step }) => step === 'judge')?.lag ?? 0
  return {
    planes: {
      control: { alive: heartbeatAgeMs <= 30_000, heartbeatAgeMs },
      execution: {
        state: heartbeatAgeMs <= continuityMs ? 'running' : 'waiting for policy',
        continuityMs,
      },
    },
    steps,
    services: [
      schedulerLine(await lag.scheduler(nowMs)),
      pollerLine(lag.poller(nowMs)),
      judgeLine(world.judging(nowMs), waiting),
    ],
  }
}

async function stepState(log: EventLog, name: (typeof GROUPS)[number]) {
  const row: StepRow = STEPS[name]
  const topics = row.reads.filter(topic => topic !== 'ingress.ext.<tenant>')
  const lag = await log.lag(name, topics)
  const behind = lag.reduce((sum, each) => sum + each.lag, 0)
  return { step: name, service: row.service, lag: behind, caughtUp: behind === 0 }
}

function schedulerLine({ oldestLateMs, ...more }: ScheduleLag) {
  const state: ServiceWord = more.overdue > 0 ? 'behind' : 'ok'
  return { service: 'scheduler', state, lagMs: Math.round(oldestLateMs), ...more }
}

function pollerLine({ oldestLateMs, ...more }: ObservationLag) {
  const isDegraded = more.suspended + more.refused + more.failing > 0
  const state: ServiceWord = more.overdue > 0 ? 'behind' : isDegraded ? 'degraded' : 'ok'
  return { service: 'mcp-poller', state, lagMs: Math.round(oldestLateMs), ...more }
}

function judgeLine({ asked, failedLately }: JudgingState, waiting: number) {
  const isBehind = waiting > 0 ? 'behind' : 'ok'
  const state: ServiceWord = failedLately > 0 ? 'degraded' : isBehind
  return { service: 'judge', state, waiting, asked, failedLately }
}
