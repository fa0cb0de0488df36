/**
 * Gives a lost store its guard documents back (I5). `decisions` come first: they are the truth
 * about candidates, claims and groups. A state record that includes a decision which never
 * reached the log belongs to a commit that was lost on the way, and is passed over.
 */
import { tenantKey } from '#kernel/domain/ids.ts'
import { isNewestOf } from '#kernel/domain/overtaken.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { Rebuild, Restored } from '#kernel/host/step.ts'
import type { Decision, GuardStateRecord, Usage } from '#schemas/generated/records.ts'
import type { GuardWorld } from './guard-facts.ts'
import {
  BLANK_STATE,
  CANDIDATE_TTL_MS,
  type CandidateMemory,
  candidateKey,
  type GuardState,
  guardKey,
  withDelivery,
} from './guard-state.ts'
import {
  blankMemory,
  charge,
  type Folding,
  type RebuildMemory,
  rememberDecision,
} from './rebuild-memory.ts'
import { restoreDelivery } from './restore-delivery.ts'
import { enterGroup, leaveGroup, noteFlush } from './restore-group.ts'

const DAY_MS = 86_400_000

/** Reads `decisions`, then `guard.state`, then `usage`. */
export function guardRebuild(world: GuardWorld): Rebuild {
  const memories = new WeakMap<Restored, RebuildMemory>()
  const { codec } = world
  const folding = (restored: Restored, now: number): Folding => {
    const memory = memories.get(restored) ?? blankMemory()
    memories.set(restored, memory)
    return { world, restored, memory, now }
  }
  return {
    sources: [
      { topic: 'decisions', ageMs: CANDIDATE_TTL_MS },
      { topic: 'guard.state' },
      { topic: 'usage', ageMs: 32 * DAY_MS },
    ],
    fold(of, { topic, value }, now) {
      if (!value) return
      if (topic === 'decisions') {
        const decision = codec.decode('decision', value)
        foldDecision(folding(of(decision.tenant), now), decision)
      } else if (topic === 'guard.state') {
        const record = codec.decode('guard-state', value)
        foldState(folding(of(record.tenant), now), record)
      } else if (topic === 'usage') {
        const usage = codec.decode('usage', value)
        foldUsage(folding(of(usage.tenant), now), usage)
      }
    },
  }
}

function foldDecision(folding: Folding, decision: Decision): void {
  const { restored, memory } = folding
  const key = candidateKey(decision.subscription, decision.candidateId)
  const held = restored.documents.get(key)
  const implied = memory.implied.get(key)
  if (implied) {
    memory.implied.delete(key)
    restored.outputs = restored.outputs.filter(output => output !== implied)
  } else if (held && held.version >= decision.seq) return
  const before = held?.value as CandidateMemory | undefined
  const candidate = rememberDecision(folding, decision)
  if (candidate.group && decision.emit) enterGroup(folding, decision, candidate.group)
  if (before?.group && !candidate.group) leaveGroup(folding, decision, before.group)
  if (decision.fate !== 'delivered') return
  if (decision.groupKey !== null) noteFlush(folding, decision, decision.groupKey)
  if (decision.emit) restoreDelivery(folding, decision, decision.emit)
}

function foldState(folding: Folding, record: GuardStateRecord): void {
  const { restored } = folding
  const key = guardKey(record.subscription)
  const held = restored.documents.get(key)
  const { version } = record
  if (!isNewestOf(restored, stateOutput(record), version)) return
  const isTorn = includesLostDecision(folding, record)
  if (!isTorn) {
    const value = withLaterDeliveries(folding, record, record.state as GuardState)
    restored.documents.set(key, { version, value })
  } else if (held) {
    restored.documents.set(key, { version, value: held.value })
  } else {
    const value = withLaterDeliveries(folding, { ...record, at: 0 }, BLANK_STATE)
    restored.documents.set(key, { version, value })
  }
}

function stateOutput(value: GuardStateRecord): Output {
  const { tenant, subscription, version } = value
  const key = tenantKey(tenant, subscription)
  return { topic: 'guard.state', key, id: `${subscription}/${version}`, tenant, value }
}

/** Decisions are kept longer than this, so one that is missing was never appended. */
const TORN_AGE_MAX_MS = 7 * DAY_MS

function includesLostDecision(folding: Folding, record: GuardStateRecord): boolean {
  const { lastDecision } = record.state as GuardState
  if (!lastDecision || record.at < folding.now - TORN_AGE_MAX_MS) return false
  const [candidateId = '', seq = '0'] = lastDecision.split('/')
  const held = folding.restored.documents.get(candidateKey(record.subscription, candidateId))
  return (held?.version ?? 0) < Number(seq)
}

/** Deliveries that are in the log although the state record of their commit is not. */
function withLaterDeliveries(
  { world, memory }: Folding,
  { tenant, subscription, at }: GuardStateRecord,
  state: GuardState,
): GuardState {
  const limits = world.directory.subscription(tenant, subscription)?.limits
  if (!limits) return state
  return memory.deliveries
    .filter(d => d.subscription === subscription && d.at > at)
    .reduce((next, d) => withDelivery(next, limits, { ...d, now: d.at }), state)
}

function foldUsage(folding: Folding, usage: Usage): void {
  if (usage.stage === 'activation') charge(folding, usage)
}
