/** What the owners of suspended subscriptions are told when their source answers again. */
import type { ObservationState } from '#kernel/domain/observation-state.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import { noticeOutputs } from './poll-outputs.ts'
import type { PollFacts } from './poll-result.ts'

/** One notice for each owner, none where nobody is suspended; resuming is theirs. */
export function recoveredOutputs(
  { suspended, failedSince }: ObservationState,
  { observation, connector, now }: Omit<PollFacts, 'live'>,
): Output[] {
  const waiting = [...observation.subscribers.values()].filter(each => each.isSuspendedHere)
  if (waiting.length === 0 || suspended?.proposedAt) return []
  const { connector: name, operation } = observation.observe
  const told = {
    kind: 'observation-recovered',
    severity: 'info' as const,
    cause: `observation-recovered/${observation.id}/${suspended?.at ?? failedSince}`,
    text: `${name} answers ${operation} again: resume what was suspended; it goes on there.`,
    details: { failedSince, suspendedAt: suspended?.at ?? null },
    owner: connector?.owner,
  }
  return noticeOutputs(observation, waiting, told, now)
}
