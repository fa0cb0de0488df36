/** The step `judge`, apart from what it asks of the outside: what it reads, and what is due. */
import { askFactsOf } from '#kernel/domain/ask.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { Lanes, Step } from '#kernel/host/step.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Candidate, EventRecord } from '#schemas/generated/records.ts'
import { lookAgain } from './asks.ts'
import type { Answered } from './finish-batch.ts'
import { askKey, parseDueId, reservationKey } from './judge-memory.ts'
import { judgeRebuild } from './judge-rebuild.ts'
import type { JudgeSettings } from './judge-settings.ts'
import { release } from './spending.ts'

/** What is judged: a candidate with its event. */
export interface JudgeCandidate {
  candidate: Candidate & { event: EventRecord }
}

/** What the judge reads: candidates, and what people answered about some of them. */
export type JudgeInput = JudgeCandidate | Answered

export interface JudgeStepOptions {
  codec: RecordCodec
  directory: Pick<Directory, 'subscription'>
  settings: Pick<JudgeSettings, 'batchMax' | 'batchWaitMs' | 'suspendAfter'>
  work: Lanes<JudgeInput>['work']
}

/** One lane per subscription, so that a slow model delays nobody else's candidates. */
export function createJudgeStep(options: JudgeStepOptions): Step<JudgeInput> {
  const { codec, directory, settings, work } = options
  const { batchMax, batchWaitMs, suspendAfter } = settings
  return {
    name: 'judge',
    topics: ['evaluations'],
    journal: 'verdicts',
    rebuild: judgeRebuild(codec, suspendAfter),
    read({ value }) {
      if (!value) return null
      const candidate = codec.decode('candidate', value)
      return { tenant: candidate.tenant, value: inputOf(candidate) }
    },
    lanes: {
      laneOf: ({ tenant, value }) => tenantKey(tenant, subscriptionOf(value)),
      batchMax,
      waitMs: batchWaitMs,
      work,
    },
    hints: () => ({ documents: [], counters: [] }),
    decide() {
      // Lanes commit by themselves.
    },
    dueHints({ id }) {
      const name = parseDueId(id)
      const document =
        name.kind === 'reservation'
          ? reservationKey(name.id)
          : askKey(name.subscription, name.candidateId)
      return { documents: [document], counters: [] }
    },
    decideDue(unit, { id }) {
      const name = parseDueId(id)
      if (name.kind === 'reservation') release(unit, name.id)
      else {
        const subscription = directory.subscription(unit.tenant, name.subscription)
        lookAgain(unit, { codec, subscription }, name)
      }
    },
  }
}

/** The subscription whose lane an input belongs to. */
export function subscriptionOf(input: JudgeInput): string {
  return 'answer' in input ? input.subscription : input.candidate.subscription
}

function inputOf(record: Candidate): JudgeInput {
  const { kind, event, verdict, subscription, candidateId } = record
  const { answer } = kind === 'answer' ? askFactsOf(verdict) : {}
  if (answer) return { subscription, candidateId, answer }
  if (kind === 'candidate' && event) return { candidate: { ...record, event } }
  const expected = 'Expected a candidate with its event, or an answer'
  throw new AmbitError('bad-request', `${expected}; got ${kind} without one.`)
}
