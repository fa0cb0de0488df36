/** The machine's clock and timers. */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '#kernel/ports/clock.ts'
import type { Ids } from '#kernel/ports/ids.ts'

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal, ref: true }),
}

export const systemIds: Ids = { random: () => randomBytes(16).toString('hex') }
