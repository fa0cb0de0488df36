/** The labelled events of a subscription, judged again: precision, recall and every flip. */
import { hashId } from '#kernel/domain/ids.ts'
import {
  type Label,
  type LabelValue,
  type Score,
  scoreOf,
  shouldMatch,
} from '#kernel/domain/label.ts'
import { objectKey } from '#kernel/domain/object-key.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import {
  NO_USAGE,
  TRIAL_EVENTS_MAX,
  type TrialItem,
  type TrialUsage,
} from '#kernel/domain/trial.ts'
import type { LiveTables } from '#kernel/host/live-tables.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { TrialResult } from '#schemas/generated/records.ts'
import { eventBody, findEvent } from '../read-model/event-query.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import { addUsage } from '../trials/add-usage.ts'
import type { TrialClient } from '../trials/trial-client.ts'
import { finishedOr, trialPart } from '../trials/trial-part.ts'

const JUDGED_WITHIN_MS = 120_000

export interface CompareWorld {
  model: ReadModel
  trials: Pick<TrialClient, 'start' | 'wait'>
  /** The table `labels`. */
  labels: LiveTables
  ids: Ids
  clock: Pick<Clock, 'now'>
}

export interface Flip {
  source: string
  id: string
  label: LabelValue
  should: boolean
  was: boolean
  now: boolean
}

export interface Comparison {
  /** What the labelled verdicts were worth. */
  before: Score
  after: Score
  flips: Flip[]
  /** Labelled events that retention took. */
  gone: number
  /** Events that no budget had room for; they are in neither score. */
  notJudged: number
  usage: TrialUsage
}

/** Labels of one subscription, oldest first. */
export function labelsOf(
  { labels }: Pick<CompareWorld, 'labels'>,
  { id, tenant }: Pick<Subscription, 'id' | 'tenant'>,
): Label[] {
  const prefix = objectKey(tenant, 'label', '')
  return labelsIn(labels, prefix)
    .filter(({ subscription }) => subscription === id)
    .sort(byPlace)
}

/** Labels whose key begins with `prefix`, by default all; in no order. */
export function labelsIn(labels: CompareWorld['labels'], prefix = ''): Label[] {
  const found: Label[] = []
  for (const key of labels.keys('labels')) {
    if (!key.startsWith(prefix)) continue
    const held = labels.get('labels', key)
    if (held?.kind === 'label' && !held.deleted) found.push(held.doc as Label)
  }
  return found
}

/** Where a label stands among those of its subscription, as text that sorts; it is unique. */
export function placeOf({ at, id }: Pick<Label, 'at' | 'id'>): string {
  return `${at} ${id}`
}

/** Sorts labels of a subscription, oldest first. */
export const byPlace = (a: Label, b: Label): number => (placeOf(a) < placeOf(b) ? -1 : 1)

/** Labels with the events that are still there. */
export interface LabelledSet {
  known: { label: Label; item: TrialItem }[]
  gone: number
}

export async function labelledSet(
  { model }: Pick<CompareWorld, 'model'>,
  tenant: string,
  labels: readonly Label[],
): Promise<LabelledSet> {
  const known: LabelledSet['known'] = []
  for (const label of labels) {
    const { source, eventId: id } = label
    const row = findEvent(model, tenant, { source, id })
    if (row) known.push({ label, item: { event: await eventBody(model, row), at: null } })
  }
  return { known, gone: labels.length - known.length }
}

/**
 * Judges the set as the draft says.
 *
 * @throws AmbitError `conflict` where the evaluator did not answer in time, or could not judge.
 */
export async function compareOn(
  world: CompareWorld,
  by: Principal,
  { draft, set, signal }: { draft: Subscription; set: LabelledSet; signal?: AbortSignal },
): Promise<Comparison> {
  const items = set.known.map(({ item }) => item)
  const { items: judged, usage } = await runTrials(world, by, {
    ...{ stage: 'judge', draft, items, signal },
  })
  const outcomes = set.known.flatMap(({ label }, at) => {
    const item = judged[at]
    if (item?.skipped) return []
    const matched = !item?.failed && item?.verdict?.outcome === 'matched'
    return [{ label, should: shouldMatch(label), was: label.outcome === 'matched', matched }]
  })
  const flips: Flip[] = outcomes
    .filter(({ was, matched }) => was !== matched)
    .map(({ label: { source, eventId: id, label }, should, was, matched: now }) => ({
      ...{ source, id, label, should, was, now },
    }))
  return {
    before: scoreOf(outcomes.map(({ should, was }) => ({ should, matched: was }))),
    after: scoreOf(outcomes),
    flips,
    gone: set.gone,
    notJudged: set.known.length - outcomes.length,
    usage,
  }
}

export interface TrialAsked {
  stage: 'estimate' | 'judge'
  draft: Subscription
  items: readonly TrialItem[]
  signal?: AbortSignal | undefined
}

type TrialsWorld = Pick<CompareWorld, 'trials' | 'ids' | 'clock'>

/**
 * One dry run after the other, each of as many events as one may have; none without events.
 *
 * @throws AmbitError `conflict` as `runTrial`, at the first that was not done.
 */
export async function runTrials(
  world: TrialsWorld,
  by: Principal,
  { items, ...asked }: TrialAsked,
): Promise<{ items: TrialItem[]; usage: TrialUsage }> {
  const judged: TrialItem[] = []
  let usage = NO_USAGE
  for (let at = 0; at < items.length; at += TRIAL_EVENTS_MAX) {
    const part = { ...asked, items: items.slice(at, at + TRIAL_EVENTS_MAX) }
    const result = await runTrial(world, by, part)
    judged.push(...(result.items as TrialItem[]))
    usage = addUsage(usage, result.usage as TrialUsage)
  }
  return { items: judged, usage }
}

/**
 * One dry run, of at most `TRIAL_EVENTS_MAX` events.
 *
 * @throws AmbitError `conflict` where the evaluator did not answer in time, or could not judge.
 */
export async function runTrial(
  { trials, ids, clock }: TrialsWorld,
  by: Principal,
  { stage, draft: subscription, items, signal }: TrialAsked,
): Promise<TrialResult> {
  const id = hashId('t', by.tenant, ids.random())
  const part = { id, kind: 'test', subscription, stage, items: [...items] }
  await trials.start(trialPart(by, part, clock.now()))
  const result = await trials.wait(id, JUDGED_WITHIN_MS, signal)
  return finishedOr(result, 'The labelled events could not be judged')
}
