/**
 * Leaves a model alone that failed again and again. After `openMs` one call may try; the others are
 * told to stay away until it has ended.
 */
export interface Breaker {
  /** May the model be called now? Where it may, `report` or `withdraw` must follow. */
  mayCall(now: number): boolean
  /** No call was made after all, so that nothing was learned of the model. */
  withdraw(): void
  report(isOutage: boolean, now: number): void
  /** Open until a call that tried again was answered. */
  isOpen(): boolean
}

/** A breaker that opens after `failuresMax` failed calls in a row, for `openMs`. */
export function createBreaker(rule: { failuresMax: number; openMs: number }): Breaker {
  let failures = 0
  let openUntil = 0
  let isTrying = false
  return {
    mayCall(now) {
      if (failures < rule.failuresMax) return true
      if (isTrying || now < openUntil) return false
      isTrying = true
      return true
    },
    withdraw() {
      isTrying = false
    },
    report(isOutage, now) {
      isTrying = false
      failures = isOutage ? failures + 1 : 0
      if (failures >= rule.failuresMax) openUntil = now + rule.openMs
    },
    isOpen: () => failures >= rule.failuresMax,
  }
}
