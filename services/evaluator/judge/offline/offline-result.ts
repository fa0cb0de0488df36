/** What the offline judge says of an item, as a batch holds it. Pure. */
import type { Condition } from '#kernel/domain/subscription.ts'
import type { Finished } from '../finish-batch.ts'
import type { JudgeItem } from '../judge-item.ts'
import { checkFacts } from '../validate-verdicts.ts'
import { judgeOffline } from './offline-judge.ts'

/** Words alone, held to the same facts as a model. */
export function offlineResult(
  condition: Condition,
  criterion: string,
  item: JudgeItem,
): Finished['result'] {
  const model = 'offline'
  const failed = { kind: 'failed' as const, reason: 'cannot-judge' as const, model, criterion }
  if (condition.scope === 'set') return failed
  const result = judgeOffline(condition.criterion, item)
  if (result.kind !== 'valid') return failed
  const checked = checkFacts(result.verdict, item.leaves)
  if (checked.kind !== 'valid') return failed
  return { kind: 'judged', verdict: checked.verdict, model, condition, criterion, isCached: false }
}
