/** What a schedule says, in the words of a person. Pure. */
import { describeRule } from '#kernel/domain/recurrence/describe-rule.ts'
import { ruleOf } from '#kernel/domain/schedule/coming-instants.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'

/**
 * In English and Spanish, with the zone, for example "every week on Monday at 09:00
 * (Europe/Madrid)". Undefined where no rule of the clock is set; anchors say themselves.
 */
export function describedSchedule({
  schedule,
}: Pick<Subscription, 'schedule'>): { en: string; es: string } | undefined {
  if (!schedule || 'anchor' in schedule) return undefined
  const rule = ruleOf(schedule)
  return { en: describeRule(rule, 'en'), es: describeRule(rule, 'es') }
}
