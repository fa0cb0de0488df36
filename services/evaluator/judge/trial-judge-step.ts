/** The step `trial-judge`: dry runs that wait for filters, an estimate or verdicts. */
import { type OpenTrial, openTrial } from '#kernel/domain/trial.ts'
import type { Lanes, Step } from '#kernel/host/step.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { parseDueId, reservationKey } from './judge-memory.ts'
import { release } from './spending.ts'

export interface TrialInput {
  trial: OpenTrial
}

/** One lane per dry run. Reservations of calls that nobody settles are released when due. */
export function createTrialJudgeStep(
  codec: RecordCodec,
  work: Lanes<TrialInput>['work'],
): Step<TrialInput> {
  return {
    name: 'trial-judge',
    topics: ['trials'],
    read({ value }) {
      if (!value) return null
      const trial = openTrial(codec.decode('trial', value))
      if (trial.stage !== 'judge' && trial.stage !== 'estimate') return null
      return { tenant: trial.tenant, value: { trial } }
    },
    lanes: { laneOf: ({ value }) => value.trial.id, batchMax: 1, waitMs: 0, work },
    hints: () => ({ documents: [], counters: [] }),
    decide() {
      // Lanes commit by themselves.
    },
    dueHints: ({ id }) => {
      const name = parseDueId(id)
      const documents = name.kind === 'reservation' ? [reservationKey(name.id)] : []
      return { documents, counters: [] }
    },
    decideDue(unit, { id }) {
      const name = parseDueId(id)
      if (name.kind === 'reservation') release(unit, name.id)
    },
  }
}
