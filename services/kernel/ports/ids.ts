/** Randomness for names that need not be deterministic: leases, incarnations, request ids. */
export interface Ids {
  /** 128 random bits as 32 hex digits. */
  random(): string
}
