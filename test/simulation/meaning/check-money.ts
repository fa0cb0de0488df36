/** I8: reserved before, charged once, never above a limit, and nothing held for ever. */
import { budgetCounters, budgetLimits } from '#kernel/domain/budget-counters.ts'
import { type Violation, violation } from '../violation.ts'
import { TENANTS, type World } from '../world.ts'
import { chargeOf, type MeaningTimeline, sumOf } from './meaning-timeline.ts'
import type { MeaningRun } from './play-meaning.ts'

export async function checkMoney(run: MeaningRun, timeline: MeaningTimeline): Promise<Violation[]> {
  return [
    ...checkReserved(run),
    ...checkPeaks(run, timeline),
    ...checkCharges(timeline),
    ...checkEnded(run),
    ...(await checkSums(run.world, timeline)),
  ]
}

/** No call without a reservation of the same process before it, and one call for each. */
function checkReserved({ models }: MeaningRun): Violation[] {
  return models.calls
    .filter(({ held }) => held === undefined)
    .map(({ process, model, mode }) =>
      violation('I8', `${process} asked ${model} unreserved (${mode})`),
    )
}

/**
 * A store that went back holds what was settled since, and counts it as paid from the log, until
 * the reservation expires; and a budget of several partitions is known again when the last of them
 * is rebuilt. In such seeds what was really used is compared, and only a subscription's own.
 */
const wasLost = ({ faults }: World) => faults.counts.has('F11') || faults.counts.has('F12')

/** Charged is never above the limit, at any commit. */
function checkPeaks({ world, money }: MeaningRun, timeline: MeaningTimeline): Violation[] {
  const limits = [...timeline.subscriptions.values()].flatMap(versions =>
    versions.flatMap(({ doc: { id, tenant, owner, agent, limits: own } }) => {
      const policy = timeline.policies.get(tenant)?.at(-1)
      const budgets = { ...policy?.budgets, subscription: own.budget }
      const moment = { now: world.clock.now(), zone: policy?.zone ?? 'UTC' }
      const all = budgetLimits(budgets, { tenant, subscription: id, owner, agent }, moment)
      return all.map(limit => ({ ...limit, name: `${tenant} ${limit.counter}` }))
    }),
  )
  const used = usedBy(timeline)
  return [...new Map(limits.map(limit => [limit.name, limit])).values()].flatMap(
    ({ name, limit, scope }) => {
      if (wasLost(world) && scope !== 'subscription') return []
      const charged = (wasLost(world) ? used : money.peaks).get(name) ?? 0
      return charged <= limit ? [] : [violation('I8', `${name} was charged ${charged} of ${limit}`)]
    },
  )
}

/** One charge per candidate, stage and attempt. */
function checkCharges({ usage }: MeaningTimeline): Violation[] {
  const groups = Map.groupBy(usage, ({ value }) => chargeOf(value))
  return [...groups].flatMap(([name, list]) => {
    if (list.length === 1) return []
    return [
      violation('I8', `${name} is charged ${list.length} times`, list[0]?.value.subject ?? ''),
    ]
  })
}

/** Every reservation is settled, or given back when it expires. */
function checkEnded({ world }: MeaningRun): Violation[] {
  const { data } = world.store.snapshot()
  return [...data].flatMap(([tenant, { documents }]) =>
    [...documents].flatMap(([key, { body }]) => {
      if (!key.startsWith('reservation/') || body.includes('"isReleased":true')) return []
      return [violation('I8', `${key} of ${tenant} is still held at the end`)]
    }),
  )
}

/** Tokens used, by tenant and counter. */
function usedBy({ usage }: MeaningTimeline): Map<string, number> {
  const used = new Map<string, number>()
  for (const { value } of usage) {
    for (const { counter } of budgetCounters(value, 'tokens', value.day)) {
      const name = `${value.tenant} ${counter}`
      used.set(name, (used.get(name) ?? 0) + sumOf(value))
    }
  }
  return used
}

/**
 * When nothing is held, what is counted is what was used. A bill whose settlement was not
 * acknowledged, in a store that then goes back, may be counted twice, and never not at all.
 */
async function checkSums(world: World, timeline: MeaningTimeline): Promise<Violation[]> {
  const expected = usedBy(timeline)
  const found: Violation[] = []
  for (const tenant of TENANTS) {
    const names = [...expected.keys()].filter(name => name.startsWith(`${tenant} `))
    const counters = names.map(name => name.slice(tenant.length + 1))
    const request = { tenant, documents: [], counters }
    const loaded = await world.store.open('checker').load(request)
    for (const counter of counters) {
      const sum = expected.get(`${tenant} ${counter}`) ?? 0
      const counted = loaded.counters.get(counter) ?? 0
      if (counted === sum || (wasLost(world) && counted > sum)) continue
      found.push(violation('I8', `${tenant} ${counter} counts ${counted}, and ${sum} were used`))
    }
  }
  return found
}
