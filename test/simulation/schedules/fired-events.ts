/** The scheduler's events of a finished seed, and what the steps after it would do with them. */
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { compileFilters } from '#kernel/domain/filter/compile-filters.ts'
import { matchSpecOf } from '#kernel/domain/filter/match-spec.ts'
import { isLive } from '#kernel/domain/subscription.ts'
import type { ScheduleRun, Written } from './schedule-state.ts'

/** The meeting whose edge an event tells of. */
export interface ToldMeeting {
  calendar: string
  uid: string
  recurrenceId: string | null
}

export interface Fired {
  id: string
  type: string
  subscription: string
  revision: string
  since: string
  /** The due instant. */
  atMs: number
  /** When the scheduler decided, by the store's clock; from then on nobody asks the calendar. */
  decidedMs: number
  appendedMs: number
  isLate: boolean
  isDelivered: boolean
  /** What the guard recognises the same occurrence by. */
  occurrence: string
  meeting: ToldMeeting | null
}

export interface Gap {
  subscription: string
  revision: string
  fromMs: number
  toMs: number
  reason: string
}

export interface ReadEvents {
  /** In the order in which they were appended. */
  fired: Fired[]
  gaps: Gap[]
}

/** The version whose append was answered by then. */
export function docAt(versions: Written[], ms: number): Written | undefined {
  return versions.findLast(({ atMs }) => atMs <= ms)
}

/** Every event ever written, the unreadable left out. */
export function readEvents(run: ScheduleRun): ReadEvents {
  const fired: Fired[] = []
  const gaps: Gap[] = []
  const topics = ['ingress.time', 'ingress.calendar'] as const
  for (const { value, record } of topics.flatMap(topic => run.history.values(topic, 'event'))) {
    const event = toCloudEvent(value)
    const subscription = String(value.attributes.subject)
    const revision = String(value.attributes.schedulerevision)
    if (event.type === 'time.missed') {
      const { from, to, reason } = event.data as { from: string; to: string; reason: string }
      const [fromMs, toMs] = [Date.parse(from), Date.parse(to)]
      gaps.push({ subscription, revision, fromMs, toMs, reason })
    } else fired.push(firedOf(run, event, record.timestamp))
  }
  return { fired: fired.sort((a, b) => a.appendedMs - b.appendedMs), gaps }
}

function firedOf(run: ScheduleRun, event: ReturnType<typeof toCloudEvent>, appendedMs: number) {
  const { subject, schedulerevision, schedulesince, time, id, dedupkey, recordedtime } =
    event as unknown as Record<string, string>
  const { late, meeting = null } = event.data as { late: boolean; meeting?: ToldMeeting }
  return {
    ...{ id: String(id), type: event.type, subscription: String(subject), appendedMs, meeting },
    ...{ revision: String(schedulerevision), since: String(schedulesince), isLate: late },
    ...{ atMs: Date.parse(String(time)), decidedMs: Date.parse(String(recordedtime)) },
    occurrence: dedupkey ?? String(id),
    isDelivered: isDelivered(run, event, appendedMs),
  }
}

/** Does the matching step take it, with the subscription that it knows then? */
function isDelivered(
  { written, bug }: ScheduleRun,
  event: ReturnType<typeof toCloudEvent>,
  appendedMs: number,
): boolean {
  const doc = docAt(written.get(String(event.subject)) ?? [], appendedMs)?.doc
  if (doc === undefined || !isLive(doc.state)) return false
  const compared = bug?.ignoresRevision ? { ...doc, scheduled: null } : doc
  return compileFilters(matchSpecOf(compared)).test(event)
}
