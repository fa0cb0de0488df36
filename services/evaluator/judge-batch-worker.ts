/**
 * The way of some candidates of one subscription through judging: admission, cache, model, band,
 * and one commit that writes all of them in their order.
 */
import { limitsOf } from '#kernel/domain/budget-counters.ts'
import { criterionHash } from '#kernel/domain/criterion-hash.ts'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { toCloudEvent } from '#kernel/domain/event-record.ts'
import { compileFilters } from '#kernel/domain/filter/compile-filters.ts'
import { matchSpecOf } from '#kernel/domain/filter/match-spec.ts'
import { candidateKey, claimKey, guardKey } from '#kernel/domain/guard-keys.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import type { Condition, Subscription } from '#kernel/domain/subscription.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { LaneBatch } from '#kernel/host/step.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Loaded, StateStore } from '#kernel/ports/state-store.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Candidate, EventRef } from '#schemas/generated/records.ts'
import { admit, type GuardGlance, type Skip } from './judge/admission.ts'
import type { CallsUnderWay, Claim, SharedOutcome } from './judge/calls-under-way.ts'
import { type Answered, type Finished, finishBatch } from './judge/finish-batch.ts'
import { type JudgeItem, judgeItemOf } from './judge/judge-item.ts'
import { type ItemFate, judgeItems } from './judge/judge-items.ts'
import { askKey } from './judge/judge-memory.ts'
import type { JudgeSettings } from './judge/judge-settings.ts'
import { type JudgeCandidate, type JudgeInput, subscriptionOf } from './judge/judge-step.ts'
import { offlineResult } from './judge/offline/offline-result.ts'
import { occursIn } from './judge/validate-verdicts.ts'
import { type CachedVerdict, verdictKey } from './judge/verdict-cache.ts'
import type { Bill, JudgeCaller } from './judge-call-worker.ts'

export interface BatchWorld {
  directory: Pick<Directory, 'subscription' | 'policy' | 'agent' | 'tenant'>
  store: StateStore
  clock: Clock
  codec: RecordCodec
  settings: JudgeSettings
  /** Undefined where the judge is offline. */
  caller: JudgeCaller | undefined
  /** Of this process. */
  underWay: CallsUnderWay
  readBodies(refs: EventRef[]): Promise<(CloudEvent | undefined)[]>
}

/** One candidate on its way. */
interface Entry extends JudgeCandidate {
  body: CloudEvent | undefined
  item: JudgeItem
  result?: Finished['result']
  spent: Bill['spent']
}

/** Judges a batch of one lane and writes what became of it. */
export async function judgeBatch(world: BatchWorld, batch: LaneBatch<JudgeInput>): Promise<void> {
  const inputs = batch.items.map(({ value }) => value)
  const [first] = inputs
  if (!first) return
  const id = subscriptionOf(first)
  const entries = await readEntries(world, inputs)
  const subscription = world.directory.subscription(batch.tenant, id)
  const condition = subscription?.condition ?? undefined
  for (const entry of entries) {
    if (entry.candidate.verdict?.outcome === 'ask') entry.result = { kind: 'question' }
    else if (subscription && !condition) entry.result = { kind: 'no-condition' }
  }
  await admitEntries(world, batch, { entries, subscription })
  if (subscription && condition) {
    const open = entries.filter(({ result }) => !result)
    const criterion = criterionHash(condition)
    if (open.length > 0) await judgeOpen(world, batch, { subscription, condition, criterion, open })
  }
  const { codec, settings } = world
  let next = 0
  const finished = inputs.flatMap((input): (Finished | Answered)[] =>
    'answer' in input ? [input] : entries.slice(next, ++next).map(finishedOf),
  )
  const { suspendAfter } = settings
  await batch.commit({ documents: [], counters: [] }, unit =>
    finishBatch(unit, { id, subscription, finished, codec, suspendAfter }),
  )
}

/** Judges candidates of a dry run: nobody asks the guard's memory, and nothing is written. */
export async function judgeDry(
  world: BatchWorld,
  batch: LaneBatch<unknown>,
  task: {
    subscription: Subscription
    condition: Condition
    candidates: JudgeCandidate['candidate'][]
  },
): Promise<Finished[]> {
  const { subscription, condition, candidates } = task
  const open: Entry[] = candidates.map(candidate => {
    const body = toCloudEvent(candidate.event)
    return { candidate, body, item: judgeItemOf(body), spent: [] }
  })
  const criterion = criterionHash(condition)
  await judgeOpen(world, batch, { subscription, condition, criterion, open })
  return open.map(finishedOf)
}

function finishedOf({ candidate, result, spent, item: { isCut } }: Entry): Finished {
  return { candidate, result: result ?? { kind: 'no-condition' }, spent, isCut }
}

async function readEntries(world: BatchWorld, inputs: JudgeInput[]): Promise<Entry[]> {
  const candidates = inputs.flatMap(input => ('answer' in input ? [] : input.candidate))
  const refs = candidates.flatMap(({ event }) => event.ref ?? [])
  const bodies = refs.length > 0 ? await world.readBodies(refs) : []
  let next = 0
  return candidates.map(candidate => {
    const body = candidate.event.ref ? bodies[next++] : toCloudEvent(candidate.event)
    const item = judgeItemOf(body ?? toCloudEvent(candidate.event))
    return { candidate, body, item, spent: [] }
  })
}

interface Admission {
  entries: readonly Entry[]
  subscription: Subscription | undefined
}

/** Decides without a call what the answer could not change. */
async function admitEntries(
  world: BatchWorld,
  { tenant }: LaneBatch<JudgeInput>,
  { entries, subscription }: Admission,
): Promise<void> {
  const { directory, store, clock } = world
  const waiting = entries.filter(({ result }) => !result)
  const [first] = waiting
  if (!first) return
  const policy = directory.policy(tenant)
  const id = first.candidate.subscription
  const loaded = await store.load({
    tenant,
    documents: [guardKey(id), ...waiting.flatMap(({ candidate }) => documentsOf(candidate))],
    counters: subscription
      ? limitsOf(subscription, policy, clock.now()).map(({ counter }) => counter)
      : [],
  })
  const { now, counters } = loaded
  const facts = {
    ...{ now, subscription, policy },
    agent: subscription && directory.agent(tenant, subscription.agent),
    isTenantStopped: directory.tenant(tenant)?.stopped !== undefined,
    guard: documentOf<GuardGlance>(loaded, guardKey(id)),
    counter: (name: string) => counters.get(name) ?? 0,
  }
  for (const entry of waiting) {
    const { candidate } = entry
    if (documentOf(loaded, askKey(id, candidate.candidateId))) {
      entry.result = { kind: 'asked' }
      continue
    }
    const skip = admit(facts, {
      candidate,
      knownFate: documentOf<{ fate: string }>(loaded, candidateKey(id, candidate.candidateId))
        ?.fate,
      claimant: documentOf<{ candidateId: string }>(loaded, claimKey(id, candidate.occurrenceId))
        ?.candidateId,
      matches: () => !subscription || takes(subscription, entry),
    })
    if (skip) entry.result = { kind: 'skipped', skip }
  }
}

function documentsOf({ subscription, candidateId, occurrenceId }: Candidate): string[] {
  return [
    candidateKey(subscription, candidateId),
    claimKey(subscription, occurrenceId),
    askKey(subscription, candidateId),
  ]
}

function takes(subscription: Subscription, { body, candidate }: Entry): boolean {
  try {
    return compileFilters(matchSpecOf(subscription)).test(body ?? toCloudEvent(candidate.event))
  } catch {
    return false
  }
}

function documentOf<T>({ documents }: Loaded, key: string): T | undefined {
  const found = documents.get(key)
  return found && (JSON.parse(found.body) as T)
}

interface Open {
  subscription: Subscription
  condition: Condition
  /** Hash of the condition's words and scope. */
  criterion: string
  open: Entry[]
}

async function judgeOpen(world: BatchWorld, batch: LaneBatch<unknown>, task: Open): Promise<void> {
  const { condition, criterion, open } = task
  if (!world.caller) {
    for (const entry of open) entry.result = offlineResult(condition, criterion, entry.item)
    return
  }
  // The same text twice in a batch is asked about once.
  const groups = [...Map.groupBy(open, ({ item }, at) => distinct(condition, item, at)).values()]
  const leaders = groups.flatMap(group => group.slice(0, 1))
  await judgeShared(world, batch, { ...task, open: leaders })
  keepOwnEvidence(leaders)
  for (const [leader, ...others] of groups) {
    for (const other of others) other.result = copyOf(leader?.result)
  }
}

function distinct({ scope }: Condition, { digest }: JudgeItem, at: number): string {
  return scope === 'set' ? String(at) : digest
}

function copyOf(result: Finished['result'] | undefined): Finished['result'] | undefined {
  return result?.kind === 'judged' ? { ...result, isCached: true } : result
}

/**
 * Each text is asked about by one batch of this process at a time. What is led here is done before
 * anything is waited for, so that no two batches wait for each other.
 */
async function judgeShared(world: BatchWorld, batch: LaneBatch<unknown>, task: Open) {
  const { condition, criterion } = task
  let left = textsOf(world, batch, task)
  while (left.length > 0) {
    const claims = left.map(text => ({ ...text, claim: world.underWay.claim(text.key) }))
    await judgeLed(world, batch, { ...task, claims })
    left = []
    const own: Entry[] = []
    for (const { key, entries, claim } of claims) {
      if (claim.kind === 'lead') continue
      const outcome = await unlessAborted(claim.outcome, batch.signal)
      if (outcome.kind === 'not-asked') left.push({ key, entries })
      else if (outcome.kind === 'failed') own.push(...entries)
      else {
        const { verdict, model } = outcome
        for (const entry of entries)
          entry.result = { kind: 'judged', verdict, model, condition, criterion, isCached: true }
      }
    }
    // Following one failure after the other would take for ever: these ask for themselves.
    if (own.length > 0) await fromModel(world, batch, { ...task, open: own })
  }
}

/** What one verdict is about: a single item, or all of a set. */
interface JudgedText {
  key: string
  entries: Entry[]
}

function textsOf(
  { settings }: BatchWorld,
  { tenant }: LaneBatch<unknown>,
  { condition, criterion, open }: Open,
): JudgedText[] {
  const texts = condition.scope === 'set' ? [open] : open.map(entry => [entry])
  const models = settings.names.join('\n')
  return texts.map(entries => {
    const items = entries.map(({ item }) => item)
    return { key: tenantKey(tenant, verdictKey(criterion, items, models)), entries }
  })
}

/** Judges what this batch leads, and tells its followers how it went, whatever happens. */
async function judgeLed(
  world: BatchWorld,
  batch: LaneBatch<unknown>,
  { claims, ...task }: Open & { claims: readonly (JudgedText & { claim: Claim })[] },
): Promise<void> {
  const open = claims.flatMap(({ claim, entries }) => (claim.kind === 'lead' ? entries : []))
  if (open.length === 0) return
  try {
    // Asked after the claim: who led before has stored its verdict by then.
    const missed = await fromCache(world, batch, { ...task, open })
    if (missed.length > 0) await fromModel(world, batch, { ...task, open: missed })
  } finally {
    for (const { claim, entries } of claims) {
      if (claim.kind === 'lead') claim.end(sharedOf(entries[0]?.result))
    }
  }
}

function sharedOf(result: Finished['result'] | undefined): SharedOutcome {
  if (result?.kind === 'judged') {
    return { kind: 'judged', verdict: result.verdict, model: result.model }
  }
  return { kind: result?.kind === 'failed' ? 'failed' : 'not-asked' }
}

/** Rejects with the signal's reason as soon as it aborts. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Uses what was judged before; answers who is still open. */
async function fromCache(
  world: BatchWorld,
  { tenant }: LaneBatch<unknown>,
  { condition, criterion, open }: Open,
): Promise<Entry[]> {
  const { settings, store } = world
  const isSet = condition.scope === 'set'
  const about = (entry: Entry) => (isSet ? open : [entry]).map(({ item }) => item)
  const keysOf = (entry: Entry) =>
    settings.names.map(model => ({ model, key: verdictKey(criterion, about(entry), model) }))
  const documents = [...new Set(open.flatMap(keysOf).map(({ key }) => key))]
  const loaded = await store.load({ tenant, documents })
  return open.filter(entry => {
    for (const { model, key } of keysOf(entry)) {
      const found = documentOf<CachedVerdict>(loaded, key)
      if (!found) continue
      const { verdict } = found
      entry.result = { kind: 'judged', verdict, model, condition, criterion, isCached: true }
      return false
    }
    return true
  })
}

async function fromModel(
  world: BatchWorld,
  batch: LaneBatch<unknown>,
  { subscription, condition, criterion, open }: Open,
): Promise<void> {
  const { caller, settings, clock, directory } = world
  const policy = directory.policy(batch.tenant)
  const fates = await judgeItems<Skip>({
    count: open.length,
    scope: condition.scope,
    models: settings.names,
    attemptsMax: settings.attemptsMax,
    pause: ms => clock.sleep(ms, batch.signal),
    async call(model, places) {
      const asked = places.flatMap(at => open[at] ?? [])
      const question = { batch, subscription, condition, criterion, policy, model }
      const bill = await caller?.call({
        ...question,
        candidateIds: asked.map(({ candidate }) => candidate.candidateId),
        items: asked.map(({ item }) => item),
      })
      if (!bill) return { kind: 'unavailable' }
      for (const [at, spent] of bill.spent.entries()) asked[at]?.spent.push(spent)
      return bill.outcome
    },
  })
  for (const [at, fate] of fates.entries()) {
    const entry = open[at]
    if (entry) entry.result = resultOf(fate, condition, criterion)
  }
}

/** The verdict about a set says of each member what that member itself said. */
function keepOwnEvidence(entries: readonly Entry[]): void {
  for (const { result, item } of entries) {
    if (result?.kind !== 'judged' || result.condition.scope !== 'set') continue
    const { verdict } = result
    const own = verdict.evidence.filter(({ quote }) => occursIn(quote, item.leaves))
    result.verdict = { ...verdict, evidence: own }
  }
}

function resultOf(
  fate: ItemFate<Skip>,
  condition: Condition,
  criterion: string,
): Finished['result'] {
  if (fate.kind === 'over-budget') return { kind: 'skipped', skip: fate.limit }
  const { model } = fate
  if (fate.kind === 'failed') return { kind: 'failed', reason: fate.reason, model, criterion }
  return { kind: 'judged', verdict: fate.verdict, model, condition, criterion, isCached: false }
}
