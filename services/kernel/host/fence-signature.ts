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

/**
 * Was it committed before the other one of its tenant and partition? A request that was given up
 * may reach the log after what the same owner wrote since, so the epoch alone does not tell.
 */
export function isSignedBefore(
  signed: Pick<FenceSignature, 'epoch' | 'seq'>,
  other: Pick<FenceSignature, 'epoch' | 'seq'>,
): boolean {
  return signed.epoch < other.epoch || (signed.epoch === other.epoch && signed.seq < other.seq)
}

/** Did this step write the record, in this partition? Older records do not name their writer. */
export function isSignedBy(signed: FenceSignature, step: string, partition: number): boolean {
  return signed.owner === undefined || signed.owner === `${step}/${partition}`
}
