/**
 * The judge on log and store in memory, with a model that a test scripts: for what happens between
 * a reservation and its bill, and when a process or the store is lost there.
 */
import { defaultAgent } from '#kernel/domain/agent.ts'
import { type AskDecision, answerRecord } from '#kernel/domain/ask.ts'
import { budgetCounter } from '#kernel/domain/budget-counters.ts'
import { dedupKeyOf } from '#kernel/domain/event.ts'
import { toEventRecord } from '#kernel/domain/event-record.ts'
import { candidateIdOf, occurrenceIdOf, tenantKey } from '#kernel/domain/ids.ts'
import { DEFAULT_LIMITS, type Limits } from '#kernel/domain/limits.ts'
import { type PolicyInput, policySchema } from '#kernel/domain/policy.ts'
import type { Condition, Subscription } from '#kernel/domain/subscription.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { RunningStep } from '#kernel/host/step-runner.ts'
import type { OutgoingRecord } from '#kernel/ports/event-log.ts'
import type { StructuredRequest, StructuredResult } from '#kernel/ports/model.ts'
import { createRecordCodec, type RecordTypes } from '#schemas/codec.ts'
import type { Candidate } from '#schemas/generated/records.ts'
import type { JudgeSettings } from '#services/evaluator/judge/judge-settings.ts'
import type { CallWorld } from '#services/evaluator/judge-call-worker.ts'
import { startJudge } from '#services/evaluator/judge-service.ts'
import { askedItems, verdictFor } from './scripted-judge.ts'
import { createStepBench, START } from './step-bench.ts'

export const TENANT = 'acme'
const codec = createRecordCodec()
/** The day of `START`, which budgets count in. */
const DAY = new Date(START).toISOString().slice(0, 10)

export type ModelAnswer = (
  request: StructuredRequest,
  nth: number,
) => StructuredResult | Promise<StructuredResult>

/** Matches every item that says yes, and says what that cost. */
export const honest: ModelAnswer = request => answerOf(request, text => /\byes\b/.test(text))

export function answerOf(
  request: StructuredRequest,
  matches: (text: string) => boolean,
  usage = { inputTokens: 200, outputTokens: 40 },
): StructuredResult {
  const verdicts = askedItems(request).map(item => verdictFor(item, matches(item.text)))
  return { kind: 'answer', text: JSON.stringify({ verdicts }), usage }
}

export interface JudgeBenchOptions {
  partitions?: number
  settings?: Partial<JudgeSettings>
  policy?: PolicyInput
  isAtomic?: boolean
  onState?: CallWorld['onState']
}

export function createJudgeBench(options: JudgeBenchOptions = {}) {
  const { partitions = 1, isAtomic = false, onState } = options
  const bench = createStepBench({ partitions, isAtomic })
  const { clock, log, store } = bench
  const subscriptions = new Map<string, Subscription>()
  const model = { answer: honest, calls: [] as StructuredRequest[] }
  const policy = { ...policySchema.parse(options.policy ?? {}), tenant: TENANT, version: 1 }
  const settings = settingsOf(model, options.settings)
  const running = new Set<RunningStep>()
  const rows = <N extends keyof RecordTypes>(topic: string, record: N): RecordTypes[N][] =>
    log.records(topic).flatMap(({ value }) => (value ? [codec.decode(record, value)] : []))
  let sent = 0
  const append = (candidates: Candidate[]) => log.open('producer').append(candidates.map(recordOf))
  return {
    ...{ bench, clock, log, store, model, subscriptions, rows, during: clock.during },
    /** Starts a process; its `crash` leaves everything unanswered. */
    async start(name: string) {
      const writer = createRecordWriter(codec, 'evaluator')
      const world = bench.world(name, { writer, knownTenants: () => [TENANT] })
      const directory = {
        subscription: (_tenant: string, id: string) => subscriptions.get(id),
        policy: () => policy,
        agent: (tenant: string, id: string) => defaultAgent(tenant, id),
        tenant: () => undefined,
      }
      const steps = await clock.during(
        startJudge({ ...world, codec, directory, onState }, settings),
      )
      const step = { stop: async () => void (await Promise.all(steps.map(each => each.stop()))) }
      running.add(step)
      return {
        crash() {
          running.delete(step)
          world.crash()
        },
      }
    },
    async stop() {
      for (const fault of ['beforeLog', 'beforeStore', 'afterStore'] as const) {
        delete bench.faults[fault]
      }
      await clock.during(Promise.all([...running].map(each => each.stop())))
      running.clear()
    },
    subscribe(id: string, more: { limits?: Partial<Limits>; condition?: Partial<Condition> } = {}) {
      subscriptions.set(id, subscriptionOf(id, more))
    },
    /** Candidates of one subscription, in this order; answers their ids. */
    async send(subscription: string, ...texts: string[]) {
      const made = texts.map(text => candidateOf(subscription, `e${++sent}`, text))
      await append(made)
      return made.map(({ candidateId }) => candidateId)
    },
    /** Records as they are: what is read again. */
    append,
    /** People's answers to a question, in this order. */
    answer: (subscription: string, candidateId: string, ...given: GivenAnswer[]) =>
      append(answersTo({ subscription, candidateId }, given, clock.now())),
    /** Candidates for the guard, repeats left out. */
    judged(): Candidate[] {
      const first = new Map<string, Candidate>()
      for (const row of rows('candidates', 'candidate')) {
        if (!first.has(row.candidateId)) first.set(row.candidateId, row)
      }
      return [...first.values()]
    },
    async counter(scope: 'subscription' | 'owner', id: string, what: 'tokens' | 'money') {
      const name = budgetCounter(scope, id, what, DAY)
      const { counters } = await store
        .open('test')
        .load({ tenant: TENANT, documents: [], counters: [name] })
      return counters.get(name) ?? 0
    },
  }
}

function recordOf(candidate: Candidate): OutgoingRecord {
  return {
    topic: 'evaluations',
    key: tenantKey(TENANT, candidate.subscription),
    value: codec.encode('candidate', candidate),
    headers: { ce_tenant: TENANT, ce_id: candidate.candidateId },
  }
}

/** What a person decides, and who. */
type GivenAnswer = [decision: AskDecision, by: string]

function answersTo(
  ask: { subscription: string; candidateId: string },
  given: GivenAnswer[],
  now: number,
): Candidate[] {
  const at = new Date(now).toISOString()
  return given.map(([decision, by]) =>
    answerRecord({ tenant: TENANT, ...ask }, { decision, by, at }),
  )
}

interface ScriptedModel {
  answer: ModelAnswer
  calls: StructuredRequest[]
}

function settingsOf(model: ScriptedModel, over: Partial<JudgeSettings> = {}): JudgeSettings {
  return {
    model: {
      complete: async request => {
        model.calls.push(request)
        const answering = model.answer(request, model.calls.length)
        return Promise.race([answering, aborted(request)])
      },
    },
    ...{ names: ['m'], timeoutMs: 1000, attemptsMax: 3, inFlightMax: 8, batchMax: 8 },
    ...{ batchWaitMs: 0, outputTokens: 600, breaker: { failuresMax: 5, openMs: 30_000 } },
    ...{ suspendAfter: 10, prices: [{ model: 'm', input: '1', output: '2' }] },
    ...over,
  }
}

/** Rejects when the caller wants no answer any more. */
function aborted({ signal }: StructuredRequest): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason))
  })
}

function candidateOf(subscription: string, id: string, text: string): Candidate {
  const event = {
    ...{ specversion: '1.0' as const, id, source: '/s', type: 't' },
    data: { text },
  }
  return {
    ...{ kind: 'candidate', tenant: TENANT, subscription, version: 1 },
    candidateId: candidateIdOf(TENANT, subscription, event),
    occurrenceId: occurrenceIdOf(TENANT, subscription, dedupKeyOf(event)),
    event: toEventRecord(event),
    position: null,
    recordedAt: START,
    ...{ verdict: null, skipped: null, marker: null, at: START },
  }
}

function subscriptionOf(
  id: string,
  more: { limits?: Partial<Limits>; condition?: Partial<Condition> },
): Subscription {
  const at = new Date(START).toISOString()
  return {
    ...{ id, tenant: TENANT, version: 1, name: id, agent: 'triage', owner: 'user:ana' },
    ...{ onBehalfOf: null, instruction: 'Act.', session: null, workspace: null, managedBy: null },
    ...{ on: {}, schedule: null, observe: null, filters: [] },
    condition: { criterion: 'it says yes', minConfidence: 0.7, scope: 'each', ...more.condition },
    limits: { ...DEFAULT_LIMITS, ...more.limits },
    origin: { kind: 'person', id: 'ana' },
    state: {
      ...{ approval: 'not-required', operation: 'active', reason: '', by: 'user:ana', at },
      version: 1,
    },
    ...{ startsAt: {}, createdAt: at, updatedAt: at },
  }
}
