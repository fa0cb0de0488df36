/** The promises of agents over a finished seed. */
import type { HistoryEntry } from '#services/agent/loop/session-store.ts'
import { outcomeLine } from '#services/agent/operations/closing-text.ts'
import { isOpen } from '#services/agent/operations/operation.ts'
import { shippedTools } from '#services/agent/tools/shipped-tools.ts'
import { createToolRegistry } from '#services/agent/tools/tool-registry.ts'
import { orphansIn } from '#test/support/agent-world.ts'
import { checkCycles } from '../check-limits.ts'
import { checkEnds, checkLeases, checkSettled, checkTokens } from '../check-mailbox.ts'
import { unfinished } from '../quiet.ts'
import { readTimeline } from '../timeline.ts'
import { type Violation, violation } from '../violation.ts'
import { TOOL_ADDRESSES } from './agent-process.ts'
import type { AgentSim } from './agent-sim.ts'
import type { AgentRun } from './play-agents.ts'
import type { Sessions } from './read-sessions.ts'

type Check = (sim: AgentSim, sessions: Sessions) => Violation[]

const CHECKS: readonly Check[] = [
  checkHistories,
  checkFences,
  checkTurns,
  checkOperations,
  checkTold,
  checkOutside,
  checkAgreement,
  checkPermits,
  checkCutOff,
  ({ world }) => checkTokens(world),
  ({ world, facts }) => checkLeases(world, facts),
  ({ world }) => checkSettled(world),
  ({ world }) => checkEnds(world),
  ({ world, facts }) => checkCycles(world, readTimeline(world), facts),
]

export function checkAgents({ sim, isFinished }: AgentRun, sessions: Sessions): Violation[] {
  return [
    ...sim.facts.surprises.map(text => violation('surprise', text)),
    ...(isFinished ? [] : unfinished(sim.world)),
    ...CHECKS.flatMap(check => check(sim, sessions)),
  ]
}

/** H1: no version of any history has a tool call without its result, or the reverse. */
function checkHistories(_sim: AgentSim, { versions }: Sessions): Violation[] {
  return versions.flatMap(({ session, document, order }) => {
    const orphans = orphansIn(document.entries.map(({ item }) => item))
    if (orphans.length === 0) return []
    return [violation('H1', `${session} at ${order} has orphans ${orphans.join()}`, session)]
  })
}

/** I6, H3: whoever writes a history has the newest lease that ever wrote it. */
function checkFences(_sim: AgentSim, { versions }: Sessions): Violation[] {
  const newest = new Map<string, number>()
  return versions.flatMap(({ key, session, document }) => {
    const before = newest.get(key) ?? 0
    newest.set(key, Math.max(before, document.token))
    if (document.token >= before) return []
    return [violation('I6', `${session} was written under ${document.token} after ${before}`)]
  })
}

/** What a person said stands once in the conversation, whatever was tried again. */
function checkTurns({ facts }: AgentSim, { histories }: Sessions): Violation[] {
  return [...facts.turns].flatMap(([id, session]) => {
    const own = (histories.get(session) ?? []).filter(({ messageId }) => messageId === id)
    const openings = own.filter(({ item }) => item.role === 'user')
    if (openings.length !== 1) {
      return [violation('turn', `${id} of ${session} is said ${openings.length} times`, id)]
    }
    if (own.at(-1)?.item.role === 'assistant') return []
    return [violation('turn', `${id} of ${session} was left without a word`, id)]
  })
}

function checkOperations(_sim: AgentSim, { operations, histories }: Sessions): Violation[] {
  return [...operations.values()].flatMap(operation => {
    const { id, session, callId, state, batch } = operation
    const found: Violation[] = []
    if (isOpen(operation))
      found.push(violation('O1', `${id} is still ${state} when quiet`, id, batch))
    const calls = callsIn(histories.get(session) ?? [])
    const isCalled = [...calls.keys()].some(
      call => callId === call || callId.startsWith(`${call}/`),
    )
    if (!isCalled) found.push(violation('O1', `${id} has no call in ${session}`, id, batch))
    return found
  })
}

/** Ids of all calls of a history, each with the text of its result. */
function callsIn(entries: HistoryEntry[]): Map<string, string> {
  return new Map(
    entries.flatMap(({ item }) =>
      item.role === 'tool' ? [[item.callId, item.text] as const] : [],
    ),
  )
}

const registry = createToolRegistry(shippedTools(TOOL_ADDRESSES))

/** Rules 4 to 6: each batch closes once, in one message; nothing is told twice or never. */
function checkTold(_sim: AgentSim, { operations, histories }: Sessions): Violation[] {
  const found: Violation[] = []
  const said = new Map(
    [...histories].map(([session, entries]) => [
      session,
      entries.filter(({ item }) => item.role === 'assistant').map(({ item }) => item.text),
    ]),
  )
  const closings = new Map<string, Set<number>>()
  for (const operation of operations.values()) {
    const { id, session, batch, state, delivery, outcome } = operation
    if (!outcome) continue
    const line = outcomeLine(operation, registry.find)
    const places = (said.get(session) ?? []).flatMap((text, at) =>
      text.includes(line) ? [at] : [],
    )
    if (places.length !== 1) {
      const text = `${id} of ${batch} (${state}, ${delivery}) is told ${places.length} times`
      found.push(violation('closing', text, id, batch, operation.deliveredBy ?? id))
    }
    const all = closings.get(`${session} ${batch}`) ?? new Set()
    for (const place of places) all.add(place)
    closings.set(`${session} ${batch}`, all)
  }
  for (const [batch, places] of closings) {
    if (places.size > 1)
      found.push(
        violation('closing', `${batch} closed ${places.size} times`, batch.split(' ')[1] ?? ''),
      )
  }
  return found
}

/** One key is one thing in the world, and one thing has one key. */
function checkOutside({ facts }: AgentSim, { operations }: Sessions): Violation[] {
  const found: Violation[] = []
  const bodyOf = new Map<string, string>()
  const keyOf = new Map<string, string>()
  for (const { key, body } of facts.requests) {
    if ((bodyOf.get(key) ?? body) !== body) found.push(violation('effect', `${key} has two bodies`))
    if ((keyOf.get(body) ?? key) !== key)
      found.push(violation('effect', `${body} has two keys`, key))
    bodyOf.set(key, body)
    keyOf.set(body, key)
  }
  const done = new Set(facts.requests.filter(({ isEffect }) => isEffect).map(({ key }) => key))
  for (const { id, outcome, idempotencyKey } of operations.values()) {
    if (outcome?.ok && !done.has(idempotencyKey)) {
      found.push(violation('effect', `${id} is told as done and never happened`, id))
    }
    if (outcome?.ok === false && outcome.why === 'refused' && done.has(idempotencyKey)) {
      found.push(violation('effect', `${id} is told as refused and happened`, id))
    }
  }
  return found
}

/** What happened in the world stands in a history, or its intent is kept. */
function checkAgreement({ facts }: AgentSim, sessions: Sessions): Violation[] {
  const known = new Set<string>()
  for (const entries of sessions.histories.values()) {
    for (const { item, messageId } of entries) {
      if (item.role !== 'assistant') continue
      for (const call of item.toolCalls) known.add(`${messageId} ${targetOf(call.arguments)}`)
    }
  }
  const operationKeys = new Set([...sessions.operations.values()].map(o => o.idempotencyKey))
  return facts.requests.flatMap(({ key, body, isEffect }) => {
    const [messageId = ''] = key.split('/')
    const isKnown =
      known.has(`${messageId} ${targetOf(body)}`) ||
      operationKeys.has(key) ||
      sessions.openIntents.has(messageId)
    if (!isEffect || isKnown) return []
    return [violation('agreement', `${key} happened and no history knows`, messageId)]
  })
}

function targetOf(text: string): string {
  return /"to":"([^"]*)"/.exec(text)?.[1] ?? ''
}

/**
 * Nothing but `read` happens without a permit of the mailbox under the newest lease, and a
 * sensitive effect not without a person's yes to that very call.
 */
function checkPermits({ facts }: AgentSim): Violation[] {
  const found: Violation[] = []
  for (const { key, body } of facts.requests) {
    const [messageId = '', tool = ''] = key.split('/')
    const isPermitted = facts.permits.some(
      each => each.messageId === messageId && each.tool === tool,
    )
    if (!isPermitted) found.push(violation('permit', `${key} was never allowed`, messageId))
    if (tool === 'pay' && !facts.approved.has(targetOf(body))) {
      found.push(violation('permit', `${key} had nobody's yes`, messageId))
    }
  }
  for (const { messageId, handle, calledAt } of facts.permits) {
    const own = facts.claims.find(claim => claim.handle === handle)
    const newer = facts.claims.find(
      claim =>
        claim.messageId === messageId &&
        claim.storeAt < calledAt &&
        claim.token > (own?.token ?? 0),
    )
    if (newer) found.push(violation('I6', `${messageId} was allowed an effect under an old lease`))
  }
  return found
}

function checkCutOff({ facts }: AgentSim, { histories }: Sessions): Violation[] {
  const kept = new Set(
    [...histories.values()]
      .flat()
      .flatMap(({ item }) =>
        item.role === 'assistant' ? item.toolCalls.map(call => call.arguments) : [],
      ),
  )
  return facts.cutOff
    .filter(text => kept.has(text))
    .map(text => violation('cut-off', `${text} of an answer that was cut off was executed`))
}
