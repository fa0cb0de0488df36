/** What the registry makes of a schedule: refused with a pointer, or taken from now on. Pure. */
import { describeAt } from '#kernel/domain/parse-with.ts'
import type { RuleCheck } from '#kernel/domain/recurrence/validate-rule.ts'
import { checkRule } from '#kernel/domain/recurrence/validate-rule.ts'
import { comingInstants, ruleOf } from '#kernel/domain/schedule/coming-instants.ts'
import { scheduleRevision } from '#kernel/domain/schedule/schedule-identity.ts'
import type { Scheduled, Subscription } from '#kernel/domain/subscription.ts'
import type { Anchor, Schedule } from '#kernel/domain/trigger.ts'
import type { ChangeContext, Refusal } from './change-request.ts'
import { refuse } from './change-request.ts'

type ScheduleContext = Pick<ChangeContext, 'policy' | 'now' | 'calendars'>

/** Why a schedule is not taken; undefined when it is, and for one that did not change. */
export function scheduleRefusal(
  schedule: Schedule | null | undefined,
  context: ScheduleContext,
  before?: Subscription,
): Refusal | undefined {
  if (!schedule) return undefined
  if (before?.scheduled?.revision === scheduleRevision(schedule)) return undefined
  if ('anchor' in schedule) return anchorRefusal(schedule, context)
  const bounds = { shortestIntervalMs: context.policy.bounds.minIntervalMs, afterMs: context.now }
  const check: RuleCheck = checkRule(ruleOf(schedule), bounds)
  if (check.ok) return undefined
  const inside = 'once' in schedule && check.pointer === '/dtstart' ? '/once' : check.pointer
  return refused(`/schedule${inside}`, check.message, schedule)
}

/** One meeting must be there and coming; a query may wait for its first. */
function anchorRefusal(schedule: Anchor, { calendars, now }: ScheduleContext): Refusal | undefined {
  const { anchor } = schedule
  if (anchor.uid === undefined || !calendars) return undefined
  const pointer = '/schedule/anchor/uid'
  const lost = calendars.lost(anchor)
  if (lost !== null) {
    const what = lost === 'deleted' ? 'none of this name' : 'one that was cancelled'
    const problem = `expected a meeting of the calendar ${anchor.calendar}, got ${what}`
    return refused(pointer, problem, schedule)
  }
  const [next] = comingInstants(schedule, now, 1, calendars.find)
  if (next) return undefined
  const problem = 'expected a meeting whose instant is still to come, got a past one'
  return refused(pointer, problem, schedule)
}

/** A problem of a rule reads "expected …", and where it is short ", got …". */
const PROBLEM = /^expected (?<expected>.*?)(?:, got (?<actual>.*))?$/s

function refused(pointer: string, problem: string, schedule: Schedule): Refusal {
  const { expected = problem, actual } = PROBLEM.exec(problem)?.groups ?? {}
  return refuse('invalid', `${pointer}: ${problem}.`, {
    pointer,
    expected,
    actual: actual ?? describeAt({ schedule }, pointer.split('/').slice(1)),
  })
}

/** From when on the schedule counts: a change that makes it another one starts it at now. */
export function scheduledPart(
  schedule: Schedule | null,
  at: string,
  before?: Subscription,
): Scheduled | null {
  if (!schedule) return null
  const revision = scheduleRevision(schedule)
  return before?.scheduled?.revision === revision ? before.scheduled : { revision, since: at }
}

/** The schedule of a subscription that was approved or resumed: it starts at now. */
export function restarted(doc: Subscription, at: string): Scheduled | null {
  return doc.scheduled ? { ...doc.scheduled, since: at } : null
}
