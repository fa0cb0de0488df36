/** The step `judge`, apart from what it asks of the outside: what it reads, and what is due. */
import { tenantKey } from '#kernel/domain/ids.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Lanes, Step } from '#kernel/host/step.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Candidate, EventRecord } from '#schemas/generated/records.ts'
import { askAgain } from './finish-batch.ts'
import { askKey, parseDueId, reservationKey } from './judge-memory.ts'
import { judgeRebuild } from './judge-rebuild.ts'
import type { JudgeSettings } from './judge-settings.ts'
import { release } from './spending.ts'

/** What the judge reads: a candidate with its event. */
export interface JudgeInput {
  candidate: Candidate & { event: EventRecord }
}

export interface JudgeStepOptions {
  codec: RecordCodec
  settings: Pick<JudgeSettings, 'batchMax' | 'batchWaitMs' | 'suspendAfter'>
  work: Lanes<JudgeInput>['work']
}

/** One lane per subscription, so that a slow model delays nobody else's candidates. */
export function createJudgeStep({ codec, settings, work }: JudgeStepOptions): Step<JudgeInput> {
  const { batchMax, batchWaitMs, suspendAfter } = settings
  return {
    name: 'judge',
    topics: ['evaluations'],
    journal: 'verdicts',
    rebuild: judgeRebuild(codec, suspendAfter),
    read({ value }) {
      if (!value) return null
      const candidate = codec.decode('candidate', value)
      const { event, tenant } = candidate
      if (event) return { tenant, value: { candidate: { ...candidate, event } } }
      throw new AmbitError('bad-request', 'Expected a candidate, got one without its event.')
    },
    lanes: {
      laneOf: ({ tenant, value }) => tenantKey(tenant, value.candidate.subscription),
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
      else askAgain(unit, codec, name)
    },
  }
}
