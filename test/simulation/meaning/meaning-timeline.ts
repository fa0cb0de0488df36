/** What the log says of a seed of meaning, read once for all checks. */
import { criterionHash } from '#kernel/domain/criterion-hash.ts'
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Candidate, Usage, VerdictRecord } from '#schemas/generated/records.ts'
import { judgeItemOf } from '#services/evaluator/judge/judge-item.ts'
import { type Read, readTimeline, type Timeline } from '../timeline.ts'
import type { World } from '../world.ts'

/** A candidate that waited for a verdict. */
export interface Judged {
  /** As the judge reads it. */
  text: string
  /** Only what the event itself says. */
  data: string
}

export interface MeaningTimeline extends Timeline {
  judged: Map<string, Judged>
  /** Each verdict once, in the order of the log. */
  verdicts: Read<VerdictRecord>[]
  /** Each charge once. */
  usage: Read<Usage>[]
  /** Conditions by hash, of all versions of all subscriptions. */
  conditions: Map<string, NonNullable<Subscription['condition']>>
}

export function readMeaning(world: World): MeaningTimeline {
  const { history } = world
  const timeline = readTimeline(world)
  const evaluations = history.values('evaluations', 'candidate')
  const asked = evaluations.filter(({ value }) => value.kind === 'candidate' && !value.verdict)
  const judged = new Map<string, Judged>()
  for (const { value } of asked) {
    if (value.event) judged.set(value.candidateId, judgedOf(value.event))
  }
  // What matching wrote is what the judge gets, or the guard where nobody judges.
  const matched = timeline.candidates.filter(({ value }) => !judged.has(value.candidateId))
  const candidates = [...asked, ...matched].sort((a, b) => a.order - b.order)
  const firstCandidate = new Map(
    candidates.toReversed().map(each => [each.value.candidateId, each] as const),
  )
  const verdicts = history.values('verdicts', 'verdict')
  const usage = history.values('usage', 'usage').filter(({ value }) => value.stage === 'judge')
  const conditions = new Map(
    [...timeline.subscriptions.values()].flatMap(versions =>
      versions.flatMap(({ doc: { condition } }) =>
        condition ? [[criterionHash(condition), condition] as const] : [],
      ),
    ),
  )
  return {
    ...timeline,
    ...{ candidates, firstCandidate, judged, conditions },
    verdicts: onceBy(verdicts, ({ id, attempts, at }) => `${id} ${attempts} ${at}`),
    usage: onceBy(usage, value => `${chargeOf(value)} ${sumOf(value)} ${value.cost}`),
  }
}

export const chargeOf = ({ tenant, subject, stage, attempt }: Usage) =>
  `${tenant} ${subject} ${stage} ${attempt}`

export const sumOf = ({ inputTokens, outputTokens }: Usage) => inputTokens + outputTokens

function judgedOf(event: NonNullable<Candidate['event']>): Judged {
  const read = toCloudEvent(event)
  return { text: judgeItemOf(read).text, data: JSON.stringify(read.data) }
}

function onceBy<T>(list: Read<T>[], nameOf: (value: T) => string): Read<T>[] {
  const seen = new Set<string>()
  return list.filter(({ value }) => {
    const name = nameOf(value)
    if (seen.has(name)) return false
    seen.add(name)
    return true
  })
}
