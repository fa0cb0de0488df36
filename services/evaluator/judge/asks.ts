/**
 * Matches that wait for a person.
 *
 * - A1 A candidate is asked about once. What has ended leaves a mark, in `verdicts` too, so that
 *   no older record of it opens it again: not a replay, not a redelivery, not a rebuild.
 * - A2 The first answer in the log counts; a later one changes nothing.
 * - A3 The end and the candidate on its way to the guard are one commit.
 * - A4 What waits is appended again before its topic forgets it, until it ends.
 */
import { ANSWERED_OUTCOME, type AskAnswer, type AskFacts, askFactsOf } from '#kernel/domain/ask.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Output, UnitOfWork } from '#kernel/domain/unit-of-work.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Candidate, Verdict } from '#schemas/generated/records.ts'
import { ageLimitOf, expiryOf, lapseOf } from './ask-lapse.ts'
import {
  ASK_AGAIN_MS,
  ASK_LOOK_MS,
  type AskDocument,
  askKey,
  dueId,
  ENDED_ASK_TTL_MS,
  type EndedAsk,
  type OpenAsk,
} from './judge-memory.ts'
import { candidateOutput, emitQuestion, emitVerdict } from './judge-outputs.ts'
import { DUE_QUEUE } from './spending.ts'

export interface AskWorld {
  codec: RecordCodec
  subscription: Subscription | undefined
}

/** Names an ask. */
export interface AskName {
  subscription: string
  candidateId: string
}

/** A candidate whose verdict is an `ask`. */
export type AskedCandidate = Candidate & { verdict: Verdict }

/** Puts a candidate to a person, unless that was done before. */
export function openAsk(unit: UnitOfWork, world: AskWorld, candidate: AskedCandidate): void {
  if (meetAsk(unit, candidate)) return
  const { candidateId, verdict } = candidate
  const asked = withFacts(candidate, { askedAt: isoOf(unit.now) })
  unit.emit(candidateOutput('evaluations', asked))
  hold(unit, world, asked)
  if (world.subscription) emitQuestion(unit, world.subscription, { candidateId, verdict })
}

/**
 * The candidate comes again, from wherever it was read. What waits, waits on; what has ended goes
 * to the guard as it ended, which recognises it. False where nobody was asked.
 */
export function meetAsk(unit: UnitOfWork, candidate: Candidate): boolean {
  const known = unit.get<AskDocument>(keyOf(candidate))
  if (!known) return false
  if (isEnded(known)) unit.emit(endedOutput(candidate, known.ended, unit.now))
  return true
}

/** The record of a question: appended by us, and read again. */
export function readAsk(unit: UnitOfWork, world: AskWorld, candidate: Candidate): void {
  // Every question that was appended is held; what is not known any more is held anew.
  if (!unit.get<AskDocument>(keyOf(candidate))) hold(unit, world, candidate)
}

/** A person's answer; nothing where another one, or a lapse, came first (A2). */
export function answerAsk(
  unit: UnitOfWork,
  world: AskWorld,
  { answer, ...name }: AskName & { answer: AskAnswer },
): void {
  const known = unit.get<AskDocument>(keyOf(name))
  if (!known || isEnded(known)) return
  const candidate = decoded(world, known)
  const outcome = ANSWERED_OUTCOME[answer.decision]
  end(unit, world, withFacts(candidate, { answer }, outcome))
}

/** A question that waits is looked at: has it lapsed, and will its topic forget it soon? */
export function lookAgain(unit: UnitOfWork, world: AskWorld, name: AskName): void {
  const known = unit.get<AskDocument>(keyOf(name))
  if (!known || isEnded(known)) {
    unit.due(DUE_QUEUE, dueId({ kind: 'ask', ...name }), null)
    return
  }
  const candidate = decoded(world, known)
  const lapse = lapseOf(world.subscription, candidate, unit.now)
  if (lapse) {
    end(unit, world, withFacts(candidate, { lapse: { ...lapse, at: isoOf(unit.now) } }))
    return
  }
  if (unit.now < appendedAt(known) + ASK_AGAIN_MS) {
    waitOn(unit, world, candidate, appendedAt(known))
    return
  }
  unit.emit(candidateOutput('evaluations', candidate))
  hold(unit, world, candidate)
}

function hold(unit: UnitOfWork, world: AskWorld, candidate: Candidate): void {
  const encoded = world.codec.encode('candidate', candidate).toBase64()
  const document: OpenAsk = { candidate: encoded, appendedAt: unit.now }
  unit.put(keyOf(candidate), document)
  waitOn(unit, world, candidate, unit.now)
}

/** The next look: before the topic forgets the question, when it lapses, or in a day. */
function waitOn(
  unit: UnitOfWork,
  { subscription }: AskWorld,
  candidate: Candidate,
  appended: number,
): void {
  const { candidateId } = candidate
  const instants = [appended + ASK_AGAIN_MS, unit.now + ASK_LOOK_MS]
  if (subscription) {
    instants.push(ageLimitOf(subscription, candidate), expiryOf(subscription))
  }
  const id = dueId({ kind: 'ask', subscription: candidate.subscription, candidateId })
  unit.due(DUE_QUEUE, id, Math.max(unit.now + 1, Math.min(...instants)))
}

/** Marks the end, for good and in the log, and sends the candidate on its way (A1, A3). */
function end(unit: UnitOfWork, { subscription }: AskWorld, ended: AskedCandidate): void {
  const { candidateId, verdict } = ended
  const mark: EndedAsk = { ended: verdict, at: unit.now }
  unit.put(keyOf(ended), mark, { ttlMs: ENDED_ASK_TTL_MS })
  unit.due(DUE_QUEUE, dueId({ kind: 'ask', subscription: ended.subscription, candidateId }), null)
  const version = subscription?.version ?? ended.version
  const how = askFactsOf(verdict).answer ? 'answer' : 'lapse'
  emitVerdict(unit, ended, { verdict, version, end: how })
  unit.emit(endedOutput(ended, verdict, unit.now))
}

/** The candidate on its way to the guard, as its question ended. */
export function endedOutput(candidate: Candidate, verdict: Verdict, now: number): Output {
  return candidateOutput('candidates', { ...candidate, verdict, at: now })
}

function withFacts(
  candidate: AskedCandidate,
  facts: AskFacts,
  outcome: Verdict['outcome'] = candidate.verdict.outcome,
): AskedCandidate {
  const { verdict } = candidate
  const body = { ...(verdict.body as object), ...facts }
  return { ...candidate, verdict: { ...verdict, outcome, body } }
}

function decoded({ codec }: AskWorld, { candidate }: OpenAsk): AskedCandidate {
  const found = codec.decode('candidate', Uint8Array.fromBase64(candidate))
  const { verdict } = found
  if (!verdict) throw new Error('a question is held with its verdict')
  return { ...found, verdict }
}

const isEnded = (document: AskDocument): document is EndedAsk => 'ended' in document
/** Questions that an older version held do not say it. */
const appendedAt = (held: OpenAsk) => held.appendedAt ?? 0
const keyOf = ({ subscription, candidateId }: AskName) => askKey(subscription, candidateId)
const isoOf = (ms: number) => new Date(ms).toISOString()
