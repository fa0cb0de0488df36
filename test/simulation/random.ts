/** Seeded randomness: the same seed gives the same numbers on every machine. */

export interface Random {
  /** In [0, 1). */
  next(): number
  /** An integer from 0 to `n - 1`. */
  below(n: number): number
  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number
  chance(probability: number): boolean
  pick<T>(list: readonly T[]): T
  /** 32 hex digits. */
  hex(): string
  /** An independent stream, so that one part's draws do not move another's. */
  fork(name: string): Random
}

/** SplitMix32 over a hash of the names on the way. */
export function createRandom(seed: number | string): Random {
  let state = hashOf(String(seed))
  const word = () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = state ^ (state >>> 16)
    mixed = Math.imul(mixed, 0x21f0aaad)
    mixed ^= mixed >>> 15
    mixed = Math.imul(mixed, 0x735a2d97)
    return (mixed ^ (mixed >>> 15)) >>> 0
  }
  const next = () => word() / 2 ** 32
  const below = (n: number) => Math.floor(next() * n)
  return {
    next,
    below,
    between: (low, high) => low + below(high - low + 1),
    chance: probability => next() < probability,
    pick: <T>(list: readonly T[]) => list[below(list.length)] as T,
    hex: () => Array.from({ length: 4 }, () => word().toString(16).padStart(8, '0')).join(''),
    fork: name => createRandom(`${seed}/${name}`),
  }
}

function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  return hash | 0
}
