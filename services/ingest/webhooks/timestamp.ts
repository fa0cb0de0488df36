/** How far a signed time may be from ours, either way, in milliseconds. */
const TOLERANCE_MS = 5 * 60 * 1000

/**
 * Reads a time of signing in whole seconds: `malformed` unless it is digits only (`parseInt` would
 * take `123abc`), `stale` more than five minutes away from `nowMs`.
 */
export function checkTimestamp(text: string, nowMs: number): 'ok' | 'malformed' | 'stale' {
  if (!/^\d{1,15}$/.test(text)) return 'malformed'
  return Math.abs(nowMs - Number(text) * 1000) <= TOLERANCE_MS ? 'ok' : 'stale'
}
