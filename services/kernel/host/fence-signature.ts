/** What a record says about the commit that wrote it, read from its header. */
import type { LogRecord } from '#kernel/ports/event-log.ts'
import { FENCE_HEADER } from './step.ts'

export interface FenceSignature {
  tenant: string
  incarnation: string
  epoch: number
  seq: number
  /** Topics may hold records of other steps too; their fences are none of ours. */
  owner: string | undefined
}

/** The signature of a step's output; `undefined` for what no step wrote. */
export function signatureOf({ headers }: LogRecord): FenceSignature | undefined {
  if (!headers.ce_tenant || !headers[FENCE_HEADER]) return undefined
  const tenant = Buffer.from(headers.ce_tenant).toString()
  const sign = Buffer.from(headers[FENCE_HEADER]).toString()
  const [incarnation = '', epoch, seq, owner] = sign.split(' ')
  return { tenant, incarnation, epoch: Number(epoch), seq: Number(seq), owner }
}

/** Knows records that come after what was committed later; topics have an order each. */
export interface SignatureOrder {
  /** Takes a record in the order of the log. Does it come late? */
  isLate(record: LogRecord, signed: FenceSignature): boolean
}

/** An order that has seen nothing. */
export function createSignatureOrder(): SignatureOrder {
  const newest = new Map<string, FenceSignature>()
  return {
    isLate({ topic, partition }, signed) {
      const place = `${topic}/${partition}/${signed.tenant}`
      const before = newest.get(place)
      if (before && isSignedBefore(signed, before)) return true
      newest.set(place, signed)
      return false
    },
  }
}

/**
 * Was it committed before the other one of its tenant and partition? A request that was given up
 * may reach the log after what the same owner wrote since, so the epoch alone does not tell.
 */
function isSignedBefore(signed: FenceSignature, other: FenceSignature): boolean {
  return signed.epoch < other.epoch || (signed.epoch === other.epoch && signed.seq < other.seq)
}

/** Did this step write the record, in this partition? Older records do not name their writer. */
export function isSignedBy(signed: FenceSignature, step: string, partition: number): boolean {
  return signed.owner === undefined || signed.owner === `${step}/${partition}`
}
