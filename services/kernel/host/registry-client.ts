/** Asks the registry for changes through its topic and waits for the answer. */
import { hashId } from '#kernel/domain/ids.ts'
import { type ObjectKind, objectKey } from '#kernel/domain/object-key.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { readable } from '#kernel/domain/readable.ts'
import { AmbitError, ERRORS, type ErrorCode, type ErrorFacts } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { Answer } from '#schemas/generated/records.ts'
import type { RecordWriter } from './record-writer.ts'

/** How long a caller waits before it gets a status link instead. */
const ANSWER_WITHIN_MS = 5000
/** Answers kept for callers that ask again. */
const ANSWERS_MAX = 10_000

export interface ChangeOrder {
  kind: ObjectKind
  id: string
  action: string
  body?: unknown
  reason?: string
  ifVersion?: number | null
  /** Makes the change id, so that asking twice is one change. */
  idempotencyKey?: string
}

export type ChangeResult =
  | { kind: 'answered'; status: number; body: unknown }
  /** Not answered yet; `GET /v1/changes/{changeId}` tells later. */
  | { kind: 'pending'; changeId: string }

export interface RegistryClient {
  /** Rejects with the refusal of the registry as an `AmbitError`. */
  ask(by: Principal, order: ChangeOrder): Promise<ChangeResult>
  /** The answer to a change asked for earlier, while it is remembered. */
  answerOf(tenant: string, changeId: string): Answer | undefined
  stop(): Promise<void>
}

export interface RegistryClientWorld {
  log: EventLog
  codec: RecordCodec
  writer: RecordWriter
  clock: Clock
  ids: Ids
}

/** Resolves once answers are being followed. */
export async function createRegistryClient(world: RegistryClientWorld): Promise<RegistryClient> {
  const { log, codec, writer, clock, ids } = world
  const answers = new Map<string, Answer>()
  // Several callers may ask for one change at once: all of them are told.
  const waiting = new Map<string, Set<(answer: Answer) => void>>()
  const following = await log.follow({
    topics: ['registry.answers'],
    from: { sinceMs: clock.now() - 3_600_000 },
    onRecords: records => {
      for (const { value } of records) {
        const answer = value && readable(() => codec.decode('answer', value))
        if (!answer) continue
        if (answers.size >= ANSWERS_MAX) answers.delete(answers.keys().next().value ?? '')
        answers.set(answer.changeId, answer)
        for (const tell of waiting.get(answer.changeId) ?? []) tell(answer)
      }
    },
  })
  return {
    answerOf: (tenant, changeId) => {
      const answer = answers.get(changeId)
      return answer?.tenant === tenant ? answer : undefined
    },
    stop: () => following.stop(),
    async ask(by, order) {
      const changeId = changeIdOf(by, order, ids)
      const known = answers.get(changeId)
      if (known) return settle(known)
      const { promise, resolve } = Promise.withResolvers<Answer | undefined>()
      const callers = waiting.get(changeId) ?? new Set()
      waiting.set(changeId, callers.add(resolve))
      const patience = new AbortController()
      try {
        await log.append([writer.encode(changeOutput(by, order, { changeId, now: clock.now() }))])
        clock.sleep(ANSWER_WITHIN_MS, patience.signal).then(
          () => resolve(undefined),
          () => {},
        )
        const answer = await promise
        return answer ? settle(answer) : { kind: 'pending', changeId }
      } finally {
        patience.abort()
        callers.delete(resolve)
        if (callers.size === 0) waiting.delete(changeId)
      }
    },
  }
}

function changeIdOf(by: Principal, order: ChangeOrder, ids: Ids): string {
  if (!order.idempotencyKey) return hashId('x', by.tenant, ids.random())
  return hashId('x', by.tenant, by.kind, by.id, order.kind, order.action, order.idempotencyKey)
}

function changeOutput(by: Principal, order: ChangeOrder, at: { changeId: string; now: number }) {
  const { kind, id, action, body, reason, ifVersion } = order
  const { tenant } = by
  return {
    topic: 'registry.changes' as const,
    key: objectKey(tenant, kind, id),
    id: at.changeId,
    tenant,
    value: {
      changeId: at.changeId,
      ...{ tenant, kind, id, action, by },
      body: body ?? null,
      reason: reason ?? '',
      ifVersion: ifVersion ?? null,
      at: at.now,
    },
  }
}

function settle(answer: Answer): ChangeResult {
  const { status, code, body } = answer
  if (code === null) return { kind: 'answered', status, body }
  const { message, facts } = body as { message: string; facts: ErrorFacts }
  const known = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'conflict'
  throw new AmbitError(known, message, facts)
}
