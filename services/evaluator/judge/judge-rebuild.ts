/**
 * Gives a lost store back what judging remembered (I5): spending from `usage`, failures in a row
 * and ended questions from `verdicts`, open ones from `evaluations`. The cache starts empty: a text
 * may be paid for once more, and reservations of calls in flight are gone with their calls.
 */
import { hasEnded } from '#kernel/domain/ask.ts'
import { budgetCounters, moneyMicros } from '#kernel/domain/budget-counters.ts'
import type { Rebuild, Restored } from '#kernel/host/step.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Candidate, Usage, Verdict, VerdictRecord } from '#schemas/generated/records.ts'
import { endedOutput } from './asks.ts'
import { failedAfter } from './finish-batch.ts'
import {
  ASK_LOOK_MS,
  type AskDocument,
  askKey,
  dueId,
  ENDED_ASK_TTL_MS,
  type EndedAsk,
  JUDGED_TTL_MS,
  type JudgedDocument,
  type JudgeState,
  judgedKey,
  judgeKey,
  type OpenAsk,
} from './judge-memory.ts'
import { JUDGE_STAGE } from './judge-outputs.ts'
import { DUE_QUEUE } from './spending.ts'

const DAY_MS = 86_400_000
/** An end is sent to the guard again for as long as the guard surely recognises it. */
const END_AGAIN_MS = 7 * DAY_MS

/** Reads `usage`, then `verdicts`, then `evaluations`. */
export function judgeRebuild(codec: RecordCodec, suspendAfter: number): Rebuild {
  const counted = new WeakMap<Restored, Set<string>>()
  const seenIn = (restored: Restored) => {
    const seen = counted.get(restored) ?? new Set()
    counted.set(restored, seen)
    return seen
  }
  return {
    sources: [
      { topic: 'usage', ageMs: 32 * DAY_MS },
      { topic: 'verdicts', ageMs: Math.max(JUDGED_TTL_MS, ENDED_ASK_TTL_MS) },
      { topic: 'evaluations' },
    ],
    fold(of, { topic, value, timestamp }, now) {
      if (!value) return
      if (topic === 'usage') {
        const usage = codec.decode('usage', value)
        foldUsage(of(usage.tenant), seenIn(of(usage.tenant)), usage, now)
      } else if (topic === 'verdicts') {
        const verdict = codec.decode('verdict', value)
        const restored = of(verdict.tenant)
        if (hasEnded(verdict)) foldEnd(restored, verdict)
        else if (isNew(seenIn(restored), nameOf(verdict))) {
          foldVerdict(restored, verdict, suspendAfter)
        }
      } else if (topic === 'evaluations') {
        const candidate = codec.decode('candidate', value)
        const isQuestion = candidate.kind === 'candidate' && candidate.verdict?.outcome === 'ask'
        if (isQuestion) foldQuestion(of(candidate.tenant), codec, { candidate, timestamp, now })
      }
    },
  }
}

/** A record that was appended twice counts once; the same commit gave both their time. */
const nameOf = ({ id, attempts, at }: VerdictRecord) => `verdict ${id}/${attempts}/${at}`

function isNew(seen: Set<string>, name: string): boolean {
  if (seen.has(name)) return false
  seen.add(name)
  return true
}

/** An attempt is paid for once, however often its record was appended. */
function foldUsage(restored: Restored, seen: Set<string>, usage: Usage, now: number): void {
  if (usage.stage !== JUDGE_STAGE) return
  if (!isNew(seen, `usage ${usage.subject}/${usage.attempt}`)) return
  const spent = {
    tokens: usage.inputTokens + usage.outputTokens,
    money: moneyMicros(usage.cost),
  }
  for (const what of ['tokens', 'money'] as const) {
    if (spent[what] === 0) continue
    for (const { counter, period, ttlMs } of budgetCounters(usage, what, usage.day)) {
      if (period === 'day' && usage.at < now - 2 * DAY_MS) continue
      const known = restored.counters.get(counter)?.amount ?? 0
      restored.counters.set(counter, { amount: known + spent[what], ttlMs })
    }
  }
  const key = judgedKey(usage.subscription, usage.subject)
  const attempts = Math.max(usage.attempt, attemptsOf(restored, key))
  const value: JudgedDocument = { attempts }
  restored.documents.set(key, { version: attempts, value, ttlMs: JUDGED_TTL_MS })
}

function attemptsOf({ documents }: Restored, key: string): number {
  return (documents.get(key)?.value as JudgedDocument | undefined)?.attempts ?? 0
}

function foldVerdict(
  { documents }: Restored,
  { subscription, candidateId, outcome }: VerdictRecord,
  suspendAfter: number,
): void {
  const key = judgeKey(subscription)
  const held = documents.get(key)
  const before = (held?.value as JudgeState | undefined)?.failed ?? []
  const failed = failedAfter(before, candidateId, outcome === 'failed')
  const value: JudgeState = { failed: failed.length < suspendAfter ? failed : [] }
  documents.set(key, { version: (held?.version ?? 0) + 1, value })
}

/** An end stands, whatever else is read of the question (A1). */
function foldEnd({ documents }: Restored, record: VerdictRecord): void {
  const { id, subscription, candidateId, outcome, confidence, model, cached, body, at } = record
  const ended: Verdict = { id, outcome, confidence, model, cached, body }
  const value: EndedAsk = { ended, at }
  const key = askKey(subscription, candidateId)
  documents.set(key, { version: 1, value, ttlMs: ENDED_ASK_TTL_MS })
}

/** A question is open unless its end was read before: `verdicts` come first. */
function foldQuestion(
  { documents, due, outputs }: Restored,
  codec: RecordCodec,
  { candidate, timestamp, now }: { candidate: Candidate; timestamp: number; now: number },
): void {
  const { subscription, candidateId } = candidate
  const key = askKey(subscription, candidateId)
  const known = documents.get(key)?.value as AskDocument | undefined
  if (known && 'ended' in known) {
    // Its append may have been cut off behind that of the verdict.
    if (now - known.at < END_AGAIN_MS) outputs.push(endedOutput(candidate, known.ended, now))
    return
  }
  const value: OpenAsk = {
    candidate: codec.encode('candidate', candidate).toBase64(),
    appendedAt: timestamp,
  }
  documents.set(key, { version: 1, value })
  const id = dueId({ kind: 'ask', subscription, candidateId })
  due.set(id, { queue: DUE_QUEUE, id, at: now + ASK_LOOK_MS })
}
