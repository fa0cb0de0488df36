/** How people see a dry run (docs/conditions.md). */
import { NO_USAGE, type TrialItem, type TrialUsage } from '#kernel/domain/trial.ts'
import type { TrialResult, Verdict } from '#schemas/generated/records.ts'

/** One item: the event, its verdict with evidence, and the fate it would have had and why. */
export function itemView({ event, failed, verdict, fate, stage, reason, details }: TrialItem) {
  return {
    event,
    verdict: verdict ? verdictView(verdict) : null,
    fate: fate ?? null,
    ...(stage ? { stage } : {}),
    reason: failed ? 'filter' : (reason ?? ''),
    ...(failed ? { details: failed } : details ? { details } : {}),
  }
}

/** `{items, usage}`, as `POST …/test` answers. */
export function trialView({ items, usage }: Pick<TrialResult, 'items' | 'usage'>) {
  return {
    items: (items as TrialItem[]).map(itemView),
    usage: (usage as TrialUsage | null) ?? NO_USAGE,
  }
}

function verdictView({ body, ...verdict }: Verdict) {
  return { ...verdict, ...(typeof body === 'object' ? body : {}) }
}
