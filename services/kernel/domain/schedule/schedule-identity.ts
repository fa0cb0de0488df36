/**
 * Deterministic identities of what the clock brings: never an ordinal, a dispatch time, jitter or
 * the name of a process, so that doing it twice makes the same event twice.
 */
import { canonicalJson } from '../canonical-json.ts'
import { hashId } from '../ids.ts'
import type { Schedule } from '../trigger.ts'
import { type DueInstant, type ScheduleKind, scheduleKind } from './coming-instants.ts'

/** Hash of the schedule's fields: saving without a change keeps it. */
export function scheduleRevision(schedule: Schedule): string {
  return hashId('sr', canonicalJson(schedule))
}

/** Identity of one due instant: subscription, revision of its schedule, kind, nominal time. */
export function dueIdOf(
  subscription: { tenant: string; id: string; revision: string },
  kind: ScheduleKind,
  nominal: string,
): string {
  const { tenant, id, revision } = subscription
  return hashId('t', tenant, id, revision, kind, nominal)
}

/** Ms by which the dispatch of a due instant is put off: the same at every try, 0 to `jitterMs`. */
export function jitterOfInstant(
  planned: { tenant: string; id: string; revision: string; schedule: Schedule },
  { nominal }: Pick<DueInstant, 'nominal'>,
): number {
  const { schedule } = planned
  const jitterMs = 'jitterMs' in schedule ? schedule.jitterMs : 0
  return jitterMs === 0 ? 0 : jitterOf(dueIdOf(planned, scheduleKind(schedule), nominal), jitterMs)
}

function jitterOf(dueId: string, jitterMs: number): number {
  const part = Number.parseInt(dueId.slice(-8), 16) / 2 ** 32
  return Math.floor(part * jitterMs)
}
