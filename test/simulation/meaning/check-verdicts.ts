/** I15: what a verdict rests on, and what became of it. */
import type { Decision, VerdictRecord } from '#schemas/generated/records.ts'
import type { ScriptedVerdict } from '#test/support/scripted-judge.ts'
import type { Violation } from '../violation.ts'
import { INJECTION, saysWhat } from './meaning-plan.ts'
import type { Judged, MeaningTimeline } from './meaning-timeline.ts'
import type { MeaningRun } from './play-meaning.ts'
import type { ModelCall } from './scripted-model.ts'

interface Body {
  evidence: { quote: string; pointer: string }[]
  reason: string
  criterionHash: string
  promptVersion: string
  failure?: string
}

const bodyOf = ({ body }: Pick<VerdictRecord, 'body'>) => body as Body

/** A judged verdict says what a whole answer about this very text said, and quotes it. */
export function checkVerdicts(run: MeaningRun, timeline: MeaningTimeline): Violation[] {
  const { judged, verdicts, conditions } = timeline
  return verdicts.flatMap(({ value }) => {
    const about = judged.get(value.candidateId)
    const tell = (text: string) => [
      violation(`${value.outcome} of ${value.candidateId} ${text}`, value),
    ]
    if (!about) return tell('is about no candidate')
    const condition = conditions.get(value.criterionHash)
    if (!condition) return tell('was asked with a criterion that nobody wrote')
    const { evidence, failure, promptVersion, criterionHash } = bodyOf(value)
    if (criterionHash !== value.criterionHash || !promptVersion) return tell('names no prompt')
    if (value.outcome === 'failed') return failure ? [] : tell('does not say why')
    if (failure !== undefined) return tell(`failed because of ${failure}`)
    const missing = evidence.find(({ quote }) => !about.data.includes(quote))
    if (missing) return tell(`quotes what is not there: ${missing.quote}`)
    const isSet = condition.scope === 'set'
    const isYes = value.outcome !== 'not-matched'
    if (isYes && !isSet && evidence.length === 0) return tell('has no evidence')
    const { criterion } = condition
    if (!isSaid(run.models.calls, { value, about, criterion, isSet })) {
      return tell('is not what any whole answer said')
    }
    if (isSet || about.text.includes(INJECTION)) return []
    const isTrue = saysWhat(about.text, criterion) !== undefined
    return isTrue === isYes ? [] : tell('is false, and its own text is no reason')
  })
}

function violation(text: string, { candidateId, subscription }: VerdictRecord): Violation {
  return { invariant: 'I15', text, ids: [candidateId, subscription] }
}

interface Claim {
  value: VerdictRecord
  about: Judged
  criterion: string
  isSet: boolean
}

function isSaid(calls: readonly ModelCall[], { value, about, criterion, isSet }: Claim): boolean {
  return calls.some(call => {
    if (call.model !== value.model || call.criterion !== criterion) return false
    if (call.isSet !== isSet) return false
    return usableOf(call, about.text).some(
      said =>
        said.matched === (value.outcome !== 'not-matched') && said.confidence === value.confidence,
    )
  })
}

/** What a call says of a text, where it says it once and with quotes that are there. */
export function usableOf(call: ModelCall, text: string): ScriptedVerdict[] {
  const { said, items, isSet } = call
  if (!said || call.endedAt === undefined) return []
  return items.flatMap((item, at) => {
    if (item !== text) return []
    const own = said.filter(verdict => verdict.item === (isSet ? 0 : at + 1))
    const [verdict] = own
    if (!verdict || own.length > 1) return []
    const within = isSet ? items.join('\n') : item
    const isQuoted = verdict.evidence.every(({ quote }) => within.includes(quote))
    return isQuoted && (!verdict.matched || verdict.evidence.length > 0) ? [verdict] : []
  })
}

/** Deliveries stand on a match, refusals on a no, and what failed is neither (I15). */
export function checkOutcomes(run: MeaningRun, timeline: MeaningTimeline): Violation[] {
  const found: Violation[] = []
  const byId = Map.groupBy(timeline.verdicts, ({ value }) => value.id)
  for (const [candidateId, decisions] of timeline.fates) {
    if (!timeline.judged.has(candidateId)) continue
    for (const decision of decisions) {
      const why = misfit(
        timeline,
        decision,
        (byId.get(decision.verdictId ?? '') ?? []).map(v => v.value),
      )
      const ids = [candidateId, decision.subscription]
      if (why)
        found.push({ invariant: 'I15', text: `${candidateId} is ${decision.fate} ${why}`, ids })
    }
  }
  return [...found, ...checkQuestions(timeline), ...checkWords(run, timeline)]
}

function misfit(
  timeline: MeaningTimeline,
  { fate, verdictId, details, tenant, subscription, version }: Decision,
  verdicts: VerdictRecord[],
): string | undefined {
  const outcomes = new Set(verdicts.map(({ outcome }) => outcome))
  if (fate === 'delivered') {
    const { condition } = timeline.subscriptionAt(tenant, subscription, version) ?? {}
    const minimum = condition?.minConfidence ?? 0
    if (!outcomes.has('matched')) return `on ${[...outcomes].join(' and ') || 'no verdict'}`
    const isSure = verdicts.some(v => v.outcome === 'matched' && v.confidence >= minimum)
    return isSure ? undefined : 'with less confidence than is asked for'
  }
  if (fate === 'rejected') {
    const isLow = verdicts.some(({ outcome }) => outcome === 'matched')
    return outcomes.has('not-matched') || isLow ? undefined : 'and no verdict says no'
  }
  if (fate !== 'evaluation-failed') return undefined
  if (!outcomes.has('failed')) return `on ${[...outcomes].join(' and ') || 'no verdict'}`
  const told = (details ?? {}) as { failure?: string }
  return told.failure && verdictId ? undefined : 'without a reason'
}

/** A question to a person waits, and its owner was asked. */
function checkQuestions({ verdicts, fates }: MeaningTimeline): Violation[] {
  return verdicts.flatMap(({ value }) => {
    const isDelivered = fates.get(value.candidateId)?.some(({ fate }) => fate === 'delivered')
    if (value.outcome !== 'ask' || !isDelivered) return []
    const others = verdicts.filter(each => each.value.candidateId === value.candidateId)
    if (others.some(each => each.value.outcome === 'matched')) return []
    return [violation(`${value.candidateId} was delivered before a person answered`, value)]
  })
}

/** Whatever events say, models and agents are told what was written for them. */
function checkWords({ models }: MeaningRun, timeline: MeaningTimeline): Violation[] {
  const words = new Set(models.calls.map(({ isSet, words: said }) => `${isSet} ${said}`))
  const isForeign = words.size > 2
  const told = { invariant: 'I15', text: 'instructions changed with what was asked', ids: [] }
  const messages = [...timeline.firstMessage.values()].flatMap(({ value }) => {
    const { tenant, subscription, agent, instruction } = value
    const doc = timeline.subscriptionAt(tenant, subscription?.id ?? '', subscription?.version ?? 0)
    if (!doc || (doc.agent === agent && doc.instruction === instruction)) return []
    const text = `message ${value.id} has another agent or instruction than its subscription`
    return [{ invariant: 'I15', text, ids: [value.id, doc.id] }]
  })
  return isForeign ? [told, ...messages] : messages
}
