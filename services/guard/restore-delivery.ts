/** What a `delivered` decision with its encoded message says about everything it touched. */
import { tenantKey } from '#kernel/domain/ids.ts'
import type { Output } from '#kernel/domain/unit-of-work.ts'
import type { Decision, Message } from '#schemas/generated/records.ts'
import {
  type CandidateMemory,
  candidateKey,
  type MemberDocument,
  memberKey,
} from './guard-state.ts'
import { charge, type Folding, rememberDecision } from './rebuild-memory.ts'
import { leaveGroup } from './restore-group.ts'

/** Messages this much older than the newest decision were appended long ago. */
const EMIT_AGAIN_MS = 10 * 60_000

/** Counts the delivery, emits its message again, and moves all its members on. */
export function restoreDelivery(folding: Folding, decision: Decision, encoded: Uint8Array): void {
  const { world, memory } = folding
  const message = world.codec.decode('message', encoded)
  const { tenant, subscription, owner, agent, at } = decision
  charge(folding, { tenant, subscription, owner, agent, subject: message.id, at })
  forgetOld(folding, at - EMIT_AGAIN_MS)
  memory.deliveries.push({ subscription, messageId: message.id, at })
  const key = tenantKey(tenant, message.agent)
  emitAgain(folding, { topic: 'mailbox', key, id: message.id, tenant, value: message }, at)
  for (const id of message.candidateIds) {
    if (id !== decision.candidateId) implyDelivered(folding, decision, message, id)
  }
}

/**
 * The message lists a member whose own decision may have been cut off: it is delivered all the
 * same, and its decision is written now unless the log turns out to hold it.
 */
function implyDelivered(
  folding: Folding,
  decision: Decision,
  message: Message,
  candidateId: string,
): void {
  const { restored, memory } = folding
  const { subscription, tenant } = decision
  const key = candidateKey(subscription, candidateId)
  const held = restored.documents.get(key)?.value as CandidateMemory | undefined
  if (!held?.group) return
  const { positions: _positions, group, ...row } = held
  const event = eventName(folding, subscription, held)
  if (!event) return
  const { fate, stage, reason, details, version, policyVersion, at } = decision
  const value: Decision = {
    ...row,
    ...{ tenant, subscription, candidateId, event },
    ...{ fate, stage, reason, details, version, policyVersion, at },
    messageId: message.id,
    seq: held.seq + 1,
    emit: null,
  }
  rememberDecision(folding, value)
  if (group) leaveGroup(folding, value, group)
  const output: Output = {
    topic: 'decisions',
    key: tenantKey(tenant, subscription),
    id: `${candidateId}/${value.seq}`,
    tenant,
    value,
  }
  memory.implied.set(key, output)
  emitAgain(folding, output, at)
}

function eventName({ world, restored }: Folding, subscription: string, held: CandidateMemory) {
  const key = held.group && memberKey(subscription, held.group)
  const member = key && (restored.documents.get(key)?.value as MemberDocument | undefined)
  if (!member) return undefined
  const { attributes } = world.codec.decode('event', Uint8Array.fromBase64(member.event))
  const { source, id, type, time } = attributes
  return {
    ...{ source: String(source), id: String(id), type: String(type) },
    time: time === undefined ? null : String(time),
  }
}

function emitAgain({ restored, memory }: Folding, output: Output, at: number): void {
  restored.outputs.push(output)
  memory.outputTimes.set(output, at)
}

function forgetOld({ restored, memory }: Folding, before: number): void {
  const isOld = (output: Output | undefined) =>
    output !== undefined && (memory.outputTimes.get(output) ?? 0) < before
  while (isOld(restored.outputs[0])) restored.outputs.shift()
  while ((memory.deliveries[0]?.at ?? before) < before) memory.deliveries.shift()
}
