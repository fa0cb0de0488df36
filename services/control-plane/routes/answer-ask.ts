/** A person's answer to an ask: through `evaluations` to the judge, which holds what was asked. */
import {
  type AskAnswer,
  type AskDecision,
  type AskFacts,
  answerRecord,
} from '#kernel/domain/ask.ts'
import { tenantKey } from '#kernel/domain/ids.ts'
import { isPermitted, type Principal } from '#kernel/domain/principal.ts'
import { principalName } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import { type FoundAsk, findAsk } from '../read-model/ask-queries.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

/** How long a person waits for the judge. */
const ANSWERED_WITHIN_MS = 5000

export interface AskReply {
  id: string
  subscription: string
  decision: AskDecision
  by: string
  at: string
  reason?: string
}

type World = Pick<WhatHappenedWorld, 'model' | 'directory' | 'clock' | 'answerAsk'>

/** What a person says to an ask. */
export interface AskOrder {
  by: Principal
  id: string
  decision: AskDecision
  reason?: string | undefined
}

/**
 * Answers an ask; the first answer in the log counts. Undefined when the judge has not taken it in
 * time: it is in the log then, and asking again tells.
 *
 * @throws AmbitError `not-found`, `forbidden`, and `conflict` where something else ended it
 */
export async function answerAsk(world: World, order: AskOrder): Promise<AskReply | undefined> {
  const { by, id, decision, reason } = order
  const { tenant } = by
  const found = findAsk(world.model, tenant, id)
  if (!found) throw new AmbitError('not-found', `Nobody is asked about ${id}, or is no longer.`)
  const { subscription } = found
  refuseStranger(world, by, subscription)
  if (found.end) return replyOf(order, subscription, found.end)
  const at = new Date(world.clock.now()).toISOString()
  const answer: AskAnswer = { decision, by: principalName(by), at, ...(reason ? { reason } : {}) }
  const ended = await whenEnded(world, { tenant, id }, () =>
    world.answerAsk({ tenant, subscription, candidateId: id }, answer),
  )
  return ended?.end && replyOf(order, subscription, ended.end)
}

/** The record of an answer; its id makes the same answer of the same person one record. */
export function answerOutput(
  ask: { tenant: string; subscription: string; candidateId: string },
  answer: AskAnswer,
) {
  const { tenant, subscription, candidateId } = ask
  const key = tenantKey(tenant, subscription)
  const id = `${candidateId}/answer/${answer.by}/${answer.decision}`
  return { topic: 'evaluations' as const, key, id, tenant, value: answerRecord(ask, answer) }
}

/** The owner decides, or who may approve for anybody; an agent never does. */
function refuseStranger({ directory }: World, by: Principal, id: string): void {
  const isPerson = by.kind === 'person' || by.kind === 'system'
  const owner = directory.subscription(by.tenant, id)?.owner
  if (isPerson && (isPermitted(by, 'approve') || principalName(by) === owner)) return
  throw new AmbitError('forbidden', 'Expected the owner of the subscription or an approver.')
}

/** The stored answer, where it is the same; otherwise the refusal says what ended the ask. */
function replyOf(order: AskOrder, subscription: string, { answer, lapse }: AskFacts): AskReply {
  if (answer?.decision === order.decision) return { id: order.id, subscription, ...answer }
  if (answer) {
    const { decision, by, at } = answer
    throw new AmbitError('conflict', `${order.id} was answered: ${decision}, by ${by}, at ${at}.`, {
      expected: decision,
      actual: order.decision,
      extra: { answer },
    })
  }
  const why = lapse ? `${lapse.fate}, ${lapse.reason}, at ${lapse.at}` : 'unknown'
  const text = `${order.id} ended without an answer: ${why}. An answer changes nothing now.`
  throw new AmbitError('conflict', text, { extra: { lapse } })
}

/** The ask once it is over, or undefined when that takes too long. */
async function whenEnded(
  { model, clock }: World,
  { tenant, id }: { tenant: string; id: string },
  begin: () => Promise<void>,
): Promise<FoundAsk | undefined> {
  const { promise, resolve } = Promise.withResolvers<FoundAsk | undefined>()
  const look = () => {
    const found = findAsk(model, tenant, id)
    if (found?.end) resolve(found)
  }
  const unwatch = model.watch(tenant, changes => {
    if (changes.some(each => each.kind === 'decision' && each.candidateId === id)) look()
  })
  const patience = new AbortController()
  try {
    await begin()
    clock.sleep(ANSWERED_WITHIN_MS, patience.signal).then(
      () => resolve(undefined),
      () => {},
    )
    return await promise
  } finally {
    patience.abort()
    unwatch()
  }
}
