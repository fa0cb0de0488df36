/** I2 in mailboxes, I6 fencing, I7 leases. */
import type { MailboxTransition } from '#schemas/generated/records.ts'
import type { Facts } from './facts.ts'
import type { Violation } from './violation.ts'
import type { World } from './world.ts'

const FINAL = ['done', 'dead', 'cancelled', 'expired']

/** Tokens of a mailbox grow with every lease, in the order of the store's time. */
export function checkTokens({ history }: World): Violation[] {
  const leases = new Map<string, MailboxTransition>()
  for (const { value } of history.values('mailbox.state', 'mailbox-transition')) {
    // A renewal is the same lease again.
    const isFirst = value.state === 'leased' && !leases.has(`${value.leaseId}`)
    if (isFirst) leases.set(`${value.leaseId}`, value)
  }
  const found: Violation[] = []
  const newest = new Map<string, MailboxTransition>()
  const inOrder = [...leases.values()].sort(
    (a, b) => a.at - b.at || a.mailboxVersion - b.mailboxVersion || a.token - b.token,
  )
  for (const lease of inOrder) {
    const key = `${lease.tenant}/${lease.agent}`
    const before = newest.get(key)
    newest.set(key, lease)
    if (!before || before.token < lease.token) continue
    const text = `${key} gave token ${lease.token} after ${before.token}`
    found.push({ invariant: 'I6', text, ids: [lease.messageId, before.messageId, lease.agent] })
  }
  return found
}

/** What executors were answered: one settles, nobody with an expired lease, never again after. */
export function checkLeases(_world: World, facts: Facts): Violation[] {
  const found: Violation[] = []
  const doneBy = new Map<string, { handle: string; at: number }>()
  for (const { op, answer, messageId, handle, calledAt, expiresAt, at } of facts.settles) {
    if (answer === 'ok' && calledAt > expiresAt) {
      const text = `${messageId} was settled ${calledAt - expiresAt} ms after its lease`
      found.push({ invariant: 'I7', text, ids: [messageId] })
    }
    if (op !== 'complete' || answer === 'stale') continue
    const before = doneBy.get(messageId)
    if (before && before.handle !== handle) {
      const text = `${messageId} was completed under two leases`
      found.push({ invariant: 'I7', text, ids: [messageId] })
    }
    if (!before) doneBy.set(messageId, { handle, at })
  }
  for (const { messageId, at, token } of facts.claims) {
    const done = doneBy.get(messageId)
    if (!done || done.at >= at) continue
    const text = `${messageId} was leased again (token ${token}) after it was done`
    found.push({ invariant: 'I2', text, ids: [messageId] })
  }
  return found
}

/** In the log, a settled message stays settled. */
export function checkSettled({ history }: World): Violation[] {
  const settled = new Map<string, MailboxTransition>()
  const all = history.values('mailbox.state', 'mailbox-transition').map(({ value }) => value)
  for (const each of all) {
    if (FINAL.includes(each.state)) settled.set(each.messageId, each)
  }
  return all.flatMap(each => {
    const end = settled.get(each.messageId)
    if (!end || FINAL.includes(each.state) || each.version <= end.version) return []
    const text = `${each.messageId} is ${each.state} (version ${each.version}) after ${end.state}`
    return [{ invariant: 'I7', text, ids: [each.messageId] }]
  })
}

/** Messages end in one way only. */
export function checkEnds({ history }: World): Violation[] {
  const ends = new Map<string, Set<string>>()
  for (const { value } of history.values('mailbox.state', 'mailbox-transition')) {
    if (!FINAL.includes(value.state)) continue
    const known = ends.get(value.messageId) ?? new Set()
    ends.set(value.messageId, known.add(`${value.state} by ${value.leaseId ?? ''}`))
  }
  return [...ends].flatMap(([id, ways]) => {
    if (ways.size === 1) return []
    return [{ invariant: 'I7', text: `${id} ended as ${[...ways].join(' and ')}`, ids: [id] }]
  })
}
