/**
 * What may change the verdicts of a subscription, or their price, without anybody editing it: who
 * judges, and the connector that its items come from. Pure.
 */
import { canonicalJson } from '#kernel/domain/canonical-json.ts'
import { allowedOperation, type Connector, pinOf } from '#kernel/domain/connector.ts'
import { hashId, tenantKey } from '#kernel/domain/ids.ts'
import type { JudgeIdentity } from '#kernel/domain/judge-identity.ts'
import type { Score } from '#kernel/domain/label.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { TrialUsage } from '#kernel/domain/trial.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { Comparison } from './compare-labels.ts'

/** The surroundings under which a labelled set was compared last. */
export interface Surroundings {
  judge: JudgeIdentity
  /** Hash of connector, allow-list entry and schema; null for what is not observed. */
  source: string | null
}

/** Undefined while the operation has not been read since its connector was written. */
export function surroundingsOf(
  { observe }: Pick<Subscription, 'observe'>,
  connector: Connector | undefined,
  judge: JudgeIdentity,
): Surroundings | undefined {
  if (!observe) return { judge, source: null }
  if (!connector) return { judge, source: 'none' }
  const { operation } = observe
  const changed = Object.hasOwn(connector.changed, operation) ? connector.changed[operation] : null
  const pin = pinOf(connector, operation)
  if (pin === undefined && !changed) return undefined
  const where = connector.transport === 'http' ? connector.url : connector.command
  const allowed = allowedOperation(connector, operation) ?? null
  const facts = { where, allowed, schema: changed ? changed.hash : (pin ?? null) }
  return { judge, source: hashId('k', canonicalJson(facts)) }
}

/** What is another than before, in words; empty when nothing is. */
export function changesBetween(before: Surroundings, now: Surroundings): string[] {
  const models = (judge: JudgeIdentity) => judge.models.join(', ')
  const [was, is] = [models(before.judge), models(now.judge)]
  return [
    ...(was === is ? [] : [`the judge changed from ${was} to ${is}`]),
    ...(before.judge.prompt === now.judge.prompt ? [] : ['the prompt of the judge changed']),
    ...(before.judge.prices === now.judge.prices || was !== is ? [] : ['its prices changed']),
    ...(before.source === now.source ? [] : ['its connector, or the schema there, changed']),
  ]
}

/** What became of the labelled set after a change. */
export type Rerun =
  | { kind: 'compared'; comparison: Comparison }
  /** Nobody was asked, or not to the end. */
  | { kind: 'waits'; why: string; estimate: TrialUsage | null }

export interface Told {
  changes: string[]
  rerun: Rerun
  /** Labelled events that were looked at. */
  labelled: number
  /** Counts the changes of this subscription's surroundings. */
  nth: number
  now: number
}

/** Flips that a notice names. */
const FLIPS_SHOWN = 20

/** The one notice of a change. */
export function outsideChangeNotice(
  { id: subscription, tenant, name, owner, agent }: Subscription,
  told: Told,
): Output {
  const { changes, rerun, nth, now } = told
  const cause = `labels/${subscription}/${nth}/${hashId('d', ...changes)}`
  const id = hashId('n', tenant, cause)
  const isCalm = rerun.kind === 'compared' && rerun.comparison.flips.length === 0
  const value = {
    ...{ id, tenant, cause, owner, subscription, agent, messageId: null, at: now },
    kind: rerun.kind === 'compared' ? 'labels-compared' : 'labels-wait',
    severity: isCalm ? 'info' : 'warning',
    text: `${name}: ${changes.join('; ')}. ${textOf(subscription, told)}`,
    details: { changes, ...detailsOf(rerun) },
  }
  return { topic: 'notices', key: tenantKey(tenant, owner), id, tenant, value }
}

function textOf(subscription: string, { rerun, labelled }: Told): string {
  if (rerun.kind === 'waits') {
    const path = `/v1/subscriptions/${encodeURIComponent(subscription)}/labels/compare`
    const start = `To start it: POST ${path} with {}.`
    return `Its ${labelled} labelled events wait to be judged again: ${rerun.why} ${start}`
  }
  const { before, after, flips, notJudged } = rerun.comparison
  const figure = (of: keyof Pick<Score, 'precision' | 'recall'>) =>
    `${of} ${percent(after[of])} (was ${percent(before[of])})`
  const left = notJudged > 0 ? ` ${notJudged} were not judged: no budget had room.` : ''
  const judged = `On ${after.labelled} labelled events: ${figure('precision')}, ${figure('recall')}`
  return `${judged}, ${flips.length} flipped.${left}`
}

const percent = (share: number | null) =>
  share === null ? 'unknown' : `${Math.round(share * 100)} %`

function detailsOf(rerun: Rerun): object {
  if (rerun.kind === 'waits') return { estimate: rerun.estimate }
  const { before, after, flips, gone, notJudged, usage } = rerun.comparison
  return { before, after, flips: flips.slice(0, FLIPS_SHOWN), gone, notJudged, usage }
}
