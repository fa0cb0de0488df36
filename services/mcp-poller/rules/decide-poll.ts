/**
 * What follows from a poll: (state, result, surroundings) → next state and outputs. Outputs are
 * appended before the state is, so a crash between the two repeats them and loses nothing.
 */
import type { ObservationState, PollRefusal } from '#kernel/domain/observation-state.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { Subscriber } from './observation-book.ts'
import { eventOutput, markOutput, noticeOutputs, suspendOutput } from './poll-outputs.ts'
import type { Decided, PollFacts, PollResult } from './poll-result.ts'
import { FAILURES_MAX } from './poll-schedule.ts'
import { recoveredOutputs } from './recovered-outputs.ts'

/** How old the written `polledAt` may become. */
const STALE_MS = 60_000

const iso = (ms: number) => new Date(ms).toISOString()

/** What an observation is before anybody has looked. */
export function blankState({ observation, writer }: PollFacts): ObservationState {
  const { id, scope, observe } = observation
  const { connector, operation } = observe
  return {
    ...{ id, connector, operation, scope, writer },
    ...{ isPositioned: false, cursor: null, seen: [], emitted: 0, polledAt: null },
    ...{ failures: 0, failedSince: null, error: null, refusal: null },
    ...{ suspended: null, gapAt: null },
  }
}

/** Pure. */
export function decidePoll(
  before: ObservationState | undefined,
  result: PollResult,
  facts: PollFacts,
): Decided {
  const state = { ...(before ?? blankState(facts)), writer: facts.writer }
  switch (result.kind) {
    case 'answered':
      return answered(state, result, facts)
    case 'failed':
      return failed(state, result.error, facts)
    case 'refused':
      return refused(state, result, facts)
    case 'unpinned':
      return { state, outputs: pin(result.hash, facts), isNews: false }
  }
}

function pin(hash: string, { connector, observation, now }: PollFacts): Output[] {
  if (!connector) return []
  return [markOutput(connector, 'pin', { operation: observation.observe.operation, hash, now })]
}

function answered(
  state: ObservationState,
  { position, fresh, hasGap }: Extract<PollResult, { kind: 'answered' }>,
  facts: PollFacts,
): Decided {
  const { observation, live, now } = facts
  const next: ObservationState = {
    ...state,
    ...position,
    seen: [...position.seen],
    emitted: state.emitted + fresh.length,
    polledAt: iso(now),
    ...{ failures: 0, failedSince: null, error: null, refusal: null, suspended: null },
    gapAt: hasGap ? iso(now) : state.gapAt,
  }
  const outputs = fresh.map(each => eventOutput(observation, each, now))
  if (hasGap) outputs.push(...gapNotices(facts, live))
  if (state.failures > 0 || state.suspended) outputs.push(...recoveredOutputs(state, facts))
  const isMoved = position.cursor !== state.cursor || position.isPositioned !== state.isPositioned
  const isOther = state.failures > 0 || state.refusal !== null || state.suspended !== null
  const isStale = now - Date.parse(state.polledAt ?? iso(0)) >= STALE_MS
  const isNews = fresh.length > 0 || isMoved || isOther || Boolean(hasGap) || isStale
  return { state: next, outputs, isNews: isNews || hasOthers(state.seen, next.seen) }
}

/** Sighted again in another order is no news. */
function hasOthers(before: readonly string[], after: readonly string[]): boolean {
  if (before.length !== after.length) return true
  const known = new Set(before)
  return after.some(entry => !known.has(entry))
}

function gapNotices({ observation, connector, now }: PollFacts, live: readonly Subscriber[]) {
  const { connector: name, operation } = observation.observe
  const told = {
    kind: 'observation-gap',
    severity: 'warning' as const,
    cause: `observation-gap/${observation.id}/${now}`,
    text: `${name} lost our place in ${operation}; from now on it is followed, with a gap before.`,
    details: {},
    owner: connector?.owner,
  }
  return noticeOutputs(observation, live, told, now)
}

function failed(state: ObservationState, error: string, facts: PollFacts): Decided {
  const { observation, live, connector, now } = facts
  // Polled although it was suspended: somebody resumed, and it is counted anew.
  const isAnew = state.suspended !== null
  const failures = isAnew ? 1 : state.failures + 1
  const failedSince = (isAnew ? null : state.failedSince) ?? iso(now)
  const next: ObservationState = { ...state, failures, failedSince, error, suspended: null }
  if (failures < FAILURES_MAX) return { state: next, outputs: [], isNews: true }
  const { connector: name, operation } = observation.observe
  const count = `${failures} polls of ${operation} in a row`
  const reason = `${name} failed ${count} since ${failedSince}: ${error}.`
  const dependents = Object.fromEntries(live.map(({ id, version }) => [id, version]))
  const told = {
    kind: 'observation-failed',
    severity: 'critical' as const,
    cause: `observation-failed/${observation.id}/${failedSince}`,
    text: `${reason} What depends on it is suspended; it is probed, and you will be told.`,
    details: { failures, failedSince, error },
    owner: connector?.owner,
  }
  return {
    state: { ...next, suspended: { at: iso(now), probes: 0, proposedAt: null, dependents } },
    outputs: [
      ...live.map(each => suspendOutput(observation, each, { reason, now })),
      ...noticeOutputs(observation, live, told, now),
    ],
    isNews: true,
  }
}

const REFUSED: Record<PollRefusal, string> = {
  'no-connector': 'the connector was deleted',
  'not-allowed': 'the operation is not on its allow-list any more',
  'bad-arguments': 'the arguments do not fit its argument schema any more',
  'not-entitled': 'the policy does not let its person observe it any more',
  'operation-changed': 'the server changed it; write the connector again to allow it',
}

/** Told once: a refusal that goes on says nothing more. */
function refused(
  state: ObservationState,
  { refusal, hash = null, isFlagged }: Extract<PollResult, { kind: 'refused' }>,
  facts: PollFacts,
): Decided {
  const { observation, live, connector, now } = facts
  const { connector: name, operation } = observation.observe
  const outputs: Output[] = []
  const isChanged = refusal === 'operation-changed'
  if (isChanged && !isFlagged && connector) {
    outputs.push(markOutput(connector, 'flag', { operation, hash, now }))
  }
  if (state.refusal === refusal) return { state, outputs, isNews: false }
  // Observations of one operation share the cause, so that nobody is told twice.
  const cause = isChanged ? `${name}/${operation}/${hash}` : `${observation.id}/${now}`
  const told = {
    kind: isChanged ? 'connector-changed' : 'observation-refused',
    severity: 'critical' as const,
    cause: `${refusal}/${cause}`,
    text: `${operation} of ${name} is not called: ${REFUSED[refusal]}.`,
    details: { refusal },
    owner: connector?.owner,
  }
  outputs.push(...noticeOutputs(observation, live, told, now))
  return { state: { ...state, refusal }, outputs, isNews: true }
}
