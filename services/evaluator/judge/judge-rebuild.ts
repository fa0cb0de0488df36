/**
 * Gives a lost store back what judging remembered (I5): spending from `usage`, failures in a row
 * from `verdicts`, open questions from `evaluations`. The cache starts empty: a text may be paid
 * for once more, and reservations of calls in flight are gone with their calls.
 */
import { budgetCounters, moneyMicros } from '#kernel/domain/budget-counters.ts'
import type { Rebuild, Restored } from '#kernel/host/step.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Candidate, Usage, VerdictRecord } from '#schemas/generated/records.ts'
import {
  ASK_AGAIN_MS,
  type AskDocument,
  askKey,
  dueId,
  JUDGED_TTL_MS,
  type JudgedDocument,
  type JudgeState,
  judgedKey,
  judgeKey,
} from './judge-memory.ts'
import { JUDGE_STAGE } from './judge-outputs.ts'
import { DUE_QUEUE } from './spending.ts'

const DAY_MS = 86_400_000

/** Reads `usage`, then `verdicts`, then `evaluations`. */
export function judgeRebuild(codec: RecordCodec, suspendAfter: number): Rebuild {
  const counted = new WeakMap<Restored, Set<string>>()
  return {
    sources: [
      { topic: 'usage', ageMs: 32 * DAY_MS },
      { topic: 'verdicts', ageMs: JUDGED_TTL_MS },
      { topic: 'evaluations' },
    ],
    fold(of, { topic, value }, now) {
      if (!value) return
      if (topic === 'usage') {
        const usage = codec.decode('usage', value)
        const restored = of(usage.tenant)
        const seen = counted.get(restored) ?? new Set()
        counted.set(restored, seen)
        foldUsage(restored, seen, usage, now)
      } else if (topic === 'verdicts') {
        const verdict = codec.decode('verdict', value)
        foldVerdict(of(verdict.tenant), verdict, suspendAfter)
      } else if (topic === 'evaluations') {
        const candidate = codec.decode('candidate', value)
        if (candidate.verdict) foldQuestion(of(candidate.tenant), codec, candidate, now)
      }
    },
  }
}

/** An attempt is paid for once, however often its record was appended. */
function foldUsage(restored: Restored, seen: Set<string>, usage: Usage, now: number): void {
  if (usage.stage !== JUDGE_STAGE) return
  const name = `${usage.subject}/${usage.attempt}`
  if (seen.has(name)) return
  seen.add(name)
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
  { subscription, outcome }: VerdictRecord,
  suspendAfter: number,
): void {
  const key = judgeKey(subscription)
  const held = documents.get(key)
  const before = (held?.value as JudgeState | undefined)?.failures ?? 0
  const failures = outcome === 'failed' ? (before + 1) % suspendAfter : 0
  documents.set(key, { version: (held?.version ?? 0) + 1, value: { failures } })
}

/** A question is open until an answer to it was appended after it. */
function foldQuestion(
  { documents, due }: Restored,
  codec: RecordCodec,
  candidate: Candidate,
  now: number,
): void {
  const { subscription, candidateId, verdict } = candidate
  const key = askKey(subscription, candidateId)
  const id = dueId({ kind: 'ask', subscription, candidateId })
  if (verdict?.outcome !== 'ask') {
    documents.delete(key)
    due.delete(id)
    return
  }
  const value: AskDocument = { candidate: codec.encode('candidate', candidate).toBase64() }
  documents.set(key, { version: 1, value })
  due.set(id, { queue: DUE_QUEUE, id, at: Math.max(now, candidate.at + ASK_AGAIN_MS) })
}
