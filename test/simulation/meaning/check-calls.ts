/** When models are asked, and when not: cache, attempts, breaker, suspension, idle times. */
import { type Violation, violation } from '../violation.ts'
import { usableOf } from './check-verdicts.ts'
import type { MeaningTimeline } from './meaning-timeline.ts'
import { candidateOf } from './meaning-world.ts'
import type { MeaningRun } from './play-meaning.ts'
import type { ModelCall } from './scripted-model.ts'

export function checkCalls(run: MeaningRun, timeline: MeaningTimeline): Violation[] {
  return [
    ...checkCache(run, timeline),
    ...checkAttempts(run, timeline),
    ...checkBreaker(run),
    ...checkSuspensions(run, timeline),
    ...checkIdle(run),
  ]
}

/** What was judged and paid for is not asked again, and not by way of another tenant. */
function checkCache(run: MeaningRun, timeline: MeaningTimeline): Violation[] {
  const { world, models } = run
  const isLost = ['F11', 'F12'].some(fault => world.faults.counts.has(fault as 'F11'))
  const again = isLost ? [] : models.calls.flatMap(call => paidTwice(models.calls, call))
  return [...again, ...checkCached(timeline)]
}

/** An earlier call of the same tenant that was settled before this one began, with an answer. */
function paidTwice(calls: readonly ModelCall[], call: ModelCall): Violation[] {
  const { held, items, criterion, model, isSet, at } = call
  if (!held) return []
  const before = calls.find(
    each =>
      each.model === model &&
      each.criterion === criterion &&
      each.isSet === isSet &&
      each.held?.tenant === held.tenant &&
      (each.held.settledAt ?? Number.POSITIVE_INFINITY) < held.at - LOOKED_MS &&
      (isSet ? isSame(each.items, items) : items.some(text => usableOf(each, text).length > 0)) &&
      (!isSet || usableOf(each, items[0] ?? '').length > 0),
  )
  if (!before) return []
  const text = `${held.tenant} paid twice for "${items.join('", "')}" (${criterion})`
  return [violation('I15', `${text}, ${at - before.at} ms later`, candidateOf(held.id))]
}

/**
 * The cache is looked at before the first call of a batch; a batch that asks its items one after
 * the other, and is slow, may be overtaken by another subscription's.
 */
const LOOKED_MS = 60_000

const isSame = (one: readonly string[], other: readonly string[]) =>
  one.length === other.length && one.every((text, at) => text === other[at])

/** A cached verdict was paid for in its own tenant. */
function checkCached({ verdicts, usage, judged }: MeaningTimeline): Violation[] {
  const paid = new Set(
    usage.map(({ value }) => `${value.tenant} ${judged.get(value.subject)?.text}`),
  )
  return verdicts.flatMap(({ value }) => {
    if (!value.cached || paid.has(`${value.tenant} ${judged.get(value.candidateId)?.text}`))
      return []
    const text = `${value.tenant} never paid for the cached verdict of ${value.candidateId}`
    return [violation('I15', text, value.candidateId)]
  })
}

/**
 * So many calls for each candidate and model, and as many again after each disturbance and each
 * time that it was read anew: what failed is judged again.
 */
function checkAttempts({ settings, world }: MeaningRun, timeline: MeaningTimeline): Violation[] {
  const { verdicts, firstCandidate, candidates } = timeline
  const sighted = Map.groupBy(candidates, each => each.value.candidateId)
  const disturbances = world.history.incidents.filter(({ text }) => DISTURBANCE.test(text))
  return verdicts.flatMap(({ at, value }) => {
    const from = firstCandidate.get(value.candidateId)?.at ?? 0
    const own = disturbances.filter(each => each.at >= from && each.at <= at).length
    const times = (sighted.get(value.candidateId)?.length ?? 1) + own
    if (value.attempts <= settings.attemptsMax * settings.names.length * times) return []
    const text = `${value.candidateId} was asked about ${value.attempts} times, read ${times} times`
    return [violation('I15', text, value.candidateId)]
  })
}

const DISTURBANCE = /^(judge|embedded)\S* dies|lane work failed|^F(7|8|9|11|12)$/

/** A model that failed again and again is left alone for a while. */
function checkBreaker({ models, settings }: MeaningRun): Violation[] {
  const { failuresMax, openMs } = settings.breaker
  const found: Violation[] = []
  for (const [name, calls] of Map.groupBy(models.calls, c => `${c.process} and ${c.model}`)) {
    for (const call of calls) {
      const ended = calls.filter(each => (each.endedAt ?? Number.POSITIVE_INFINITY) < call.at)
      // One whose bill was not seen settled may have counted, or not.
      if (ended.some(each => endOf(each) >= call.at)) continue
      const sorted = ended.sort((a, b) => endOf(a) - endOf(b))
      const before = sorted.filter(each => endOf(each) < call.at - UNDER_WAY_MS)
      const last = before.slice(-failuresMax)
      const since = sorted.slice(before.length)
      const isOpen = last.length === failuresMax && [...last, ...since].every(e => e.isOutage)
      const sinceMs = call.at - endOf(last.at(-1))
      if (!isOpen || sinceMs >= openMs) continue
      const text = `${name}: asked ${sinceMs} ms after ${failuresMax} failures`
      found.push(violation('I15', text, call.held?.id ?? ''))
    }
  }
  return found
}

/** A call may be on its way to its reservation when the breaker opens, ms. */
const UNDER_WAY_MS = 1500

/** The breaker hears of a call when its bill is settled. */
const endOf = (call: ModelCall | undefined) => call?.held?.settledAt ?? Number.POSITIVE_INFINITY

/** So many failures in a row suspend, with one notice, and nothing less does. */
function checkSuspensions(run: MeaningRun, { verdicts }: MeaningTimeline): Violation[] {
  const { world, settings } = run
  const { history } = world
  const found: Violation[] = []
  const notices = history.values('notices', 'notice').filter(n => n.value.kind === 'evaluation')
  const changes = history
    .values('registry.changes', 'change')
    .filter(({ value }) => (value.by as { id: string }).id === 'evaluator')
  const bySubscription = Map.groupBy(verdicts, v => `${v.value.tenant}/${v.value.subscription}`)
  for (const [key, list] of bySubscription) {
    const failed = new Set<string>()
    let expected = 0
    for (const { value } of list) {
      if (value.outcome === 'failed') failed.add(value.candidateId)
      else failed.clear()
      if (failed.size < settings.suspendAfter) continue
      expected += 1
      failed.clear()
    }
    const isOwn = (tenant: string, id: string | null) => `${tenant}/${id}` === key
    const told = new Set(
      notices.filter(n => isOwn(n.value.tenant, n.value.subscription)).map(n => n.value.id),
    )
    const asked = new Set(
      changes.filter(c => isOwn(c.value.tenant, c.value.id)).map(c => c.value.changeId),
    )
    const says = `${key}: ${expected} times ${settings.suspendAfter} failures in a row`
    if (told.size !== asked.size) {
      found.push(
        violation('I15', `${key} was suspended ${asked.size} times, told ${told.size} times`, key),
      )
    }
    if (expected > 0 && told.size === 0)
      found.push(violation('I15', `${says}, never suspended`, key))
    if (told.size > expected)
      found.push(violation('I15', `${says}, suspended ${told.size} times`, key))
  }
  return found
}

/** Nothing new means no call. */
function checkIdle({ models, servers, idle }: MeaningRun): Violation[] {
  const calls = models.calls.filter(({ order }) => order > idle.order)
  const polls = servers.servers.flatMap(({ asked }) => asked).filter(({ at }) => at > idle.from)
  const found = calls
    .slice(0, 1)
    .map(({ mode }) => violation('I15', `a model was asked while idle: ${mode}`))
  if (polls.length === 0) found.push(violation('I15', 'nobody polled any more while idle'))
  return found
}
