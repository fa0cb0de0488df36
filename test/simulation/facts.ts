/** What the outside saw: the other half of every promise, beside the log. */

/** A lease as an executor got it. */
export interface SeenClaim {
  tenant: string
  agent: string
  messageId: string
  token: number
  handle: string
  executor: string
  /** Store time when it was answered. */
  storeAt: number
  at: number
}

/** An answer to `complete` or `fail`. */
export interface SeenSettle {
  tenant: string
  messageId: string
  handle: string
  op: 'complete' | 'fail'
  answer: 'ok' | 'repeat' | 'stale'
  /** Store time when the call was made. */
  calledAt: number
  /** When the lease ends, by the last answer that the executor got. */
  expiresAt: number
  at: number
}

export interface SeenEvent {
  tenant: string
  source: string
  id: string
  /** Order of the world when the answer came. */
  order: number
}

/** An answered change of a subscription. */
export interface SeenChange {
  tenant: string
  id: string
  version: number
  /** Store time when the answer came. */
  storeAt: number
}

export interface Facts {
  changes: SeenChange[]
  accepted: SeenEvent[]
  /** Event ids that a forger sent. */
  forged: { tenant: string; id: string; wasAccepted: boolean }[]
  claims: SeenClaim[]
  settles: SeenSettle[]
  /** Events that runs emitted, with the lineage their handle proves. */
  emitted: { tenant: string; id: string; source: string; messageId: string }[]
  /** Calls that ended as no promise allows. */
  surprises: string[]
}

export function createFacts(): Facts {
  return {
    changes: [],
    accepted: [],
    forged: [],
    claims: [],
    settles: [],
    emitted: [],
    surprises: [],
  }
}
