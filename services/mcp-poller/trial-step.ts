/**
 * The poller's part of a dry run: what the observation would read now, as events. No position is
 * read or moved, nothing is pinned or flagged, nothing counts as a failed poll.
 */
import type { Connector } from '#kernel/domain/connector.ts'
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import { identityScopeOf, observationIdOf } from '#kernel/domain/observation.ts'
import { observationKey } from '#kernel/domain/observation-state.ts'
import {
  type OpenTrial,
  openTrial,
  reasonOf,
  TRIAL_BYTES_MAX,
  TRIAL_EVENTS_MAX,
  type TrialItem,
  trialResult,
} from '#kernel/domain/trial.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { StatelessStep } from '#kernel/host/stateless-runner.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { EventRecord } from '#schemas/generated/records.ts'
import { type Polled, type PollRequest, type PollWorld, performPoll } from './perform-poll.ts'
import type { Observation } from './rules/observation-book.ts'
import { eventOutput } from './rules/poll-outputs.ts'
import { hasAsked, pollUsage } from './rules/poll-usage.ts'
import { permissionOf } from './rules/refusal-of.ts'

export interface TrialObserveWorld extends PollWorld {
  codec: RecordCodec
  directory: Pick<Directory, 'connector' | 'policy'>
}

/** Reads for every trial that waits for an observation, and hands it on to be judged. */
export function createTrialStep(world: TrialObserveWorld): StatelessStep {
  const { codec, clock } = world
  return {
    name: 'trial-observe',
    topics: ['trials'],
    async map({ value }): Promise<Output[]> {
      if (!value) return []
      const trial = openTrial(codec.decode('trial', value))
      if (trial.stage !== 'observe') return []
      const { id, tenant } = trial
      const place = { key: tenantKey(tenant, id), tenant }
      const usage: Output[] = []
      try {
        const polled = await read(world, observationOf(trial))
        if (hasAsked(polled)) usage.push(usageOf(world, trial))
        const items = itemsOf(world, trial, polled)
        const next: OpenTrial = { ...trial, items, stage: 'judge' }
        return [...usage, { ...place, topic: 'trials', id: `${id}-judge`, value: next }]
      } catch (error) {
        const failed = trialResult(trial, clock.now(), reasonOf(error))
        return [...usage, { ...place, topic: 'trials.results', id, value: failed }]
      }
    },
  }
}

/** A look for a dry run counts as one poll. */
function usageOf({ directory, clock }: TrialObserveWorld, trial: OpenTrial): Output {
  const { id: subject, tenant, subscription } = trial
  const { id, owner, agent } = subscription
  const { zone } = directory.policy(tenant)
  const poll = { attempt: 1, calls: 1, zone, now: clock.now() }
  return pollUsage({ tenant, subscription: id, owner, agent, subject, ...poll })
}

function itemsOf(world: TrialObserveWorld, trial: OpenTrial, polled: Polled): TrialItem[] {
  const observation = observationOf(trial)
  const { connector: name, operation } = observation.observe
  if (polled.kind !== 'answered') {
    const word = polled.kind === 'failed' ? polled.error : 'refused'
    const why = polled.kind === 'refused' ? polled.refusal : word
    throw new AmbitError('invalid', `${operation} of ${name} was not read: ${why}.`)
  }
  const items: TrialItem[] = []
  let bytes = 0
  for (const fresh of polled.fresh.slice(0, TRIAL_EVENTS_MAX)) {
    const record = eventOutput(observation, fresh, world.clock.now()).value as EventRecord
    bytes += record.json?.length ?? 0
    if (bytes > TRIAL_BYTES_MAX) break
    items.push({ event: toCloudEvent(record), at: null })
  }
  return items
}

function observationOf({ tenant, subscription }: OpenTrial): Observation {
  const { observe } = subscription
  if (!observe) throw new AmbitError('invalid', 'Expected a subscription that observes.')
  const id = observationIdOf({ ...subscription, tenant, observe })
  const scope = identityScopeOf(subscription)
  const key = observationKey(tenant, id)
  return { id, tenant, key, scope, observe, subscribers: new Map() }
}

/** The first page, as somebody would see it who looks for the first time. */
async function read(world: TrialObserveWorld, observation: Observation): Promise<Polled> {
  const { directory } = world
  const { tenant, observe } = observation
  const { cursorArgument: _position, ...rest } = observe
  const first: Observation = { ...observation, observe: rest }
  const connector = directory.connector(tenant, observe.connector)
  const permission = permissionOf(first, connector, directory.policy(tenant))
  if (permission.kind !== 'permitted') return permission
  const request: PollRequest = {
    ...permission,
    observation: first,
    position: { isPositioned: false, cursor: null, seen: [] },
    backfill: TRIAL_EVENTS_MAX,
  }
  const polled = await performPoll(world, request)
  if (polled.kind !== 'unpinned') return polled
  // Allowed and never read: what it is now is what a first poll would pin.
  const pins = { ...permission.connector.pins, [observe.operation]: polled.hash }
  const pinned: Connector = { ...permission.connector, pins }
  return performPoll(world, { ...request, connector: pinned })
}
