/**
 * What a lease handle says. The handle is `base64url(payload).base64url(hmac)`; the payload is
 * readable by design, the signature makes it proof. It serves lineage for 24 h after the lease
 * and authority never after it.
 */
import type { Hop } from './event.ts'

export interface LeaseClaim {
  tenant: string
  agent: string
  messageId: string
  subscription: string | null
  /** Fencing number; grows strictly per mailbox. */
  token: number
  /** Random name of this lease. */
  leaseId: string
  session: string | null
  onBehalfOf: string | null
  /** Lineage that events emitted under this lease carry: the message's own hop included. */
  lineage: Hop[]
  issuedAt: number
}

/** Signs and verifies handles; the key comes from configuration. */
export interface HandleSigner {
  sign(claim: LeaseClaim): string
  /** `undefined` for anything that was not signed with a current key. */
  verify(handle: string): LeaseClaim | undefined
}

/** Ms after the issue during which a handle still proves lineage. */
export const HANDLE_LINEAGE_MS = 24 * 3_600_000
