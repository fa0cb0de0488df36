/** Random choices of a workload, the same for the same seed everywhere. */
export interface Random {
  /** From 0 on, below 1. */
  share(): number
  /** A whole number below `max`. */
  int(max: number): number
  pick(items: readonly string[]): string
}

/** The mulberry32 generator: small, fast and the same everywhere. */
export function createRandom(seed: number): Random {
  let state = seed
  const share = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
  const int = (max: number): number => Math.floor(share() * max)
  const pick = (items: readonly string[]): string => items[int(items.length)] ?? ''
  return { share, int, pick }
}
