/** The two halves of a seed: everybody at work, and waiting until what was asked for has ended. */
import type { Facts } from './facts.ts'
import type { World } from './world.ts'

/** Starts everybody; done when the play has ended, which a failure of it does too. */
export function startWork(facts: Facts, play: () => Promise<void>): { isDone(): boolean } {
  let isDone = false
  play()
    .catch(error => void facts.surprises.push(`workload: ${String(error)}`))
    .finally(() => {
      isDone = true
    })
  return { isDone: () => isDone }
}

/** At least some time, so that what would come late has come; at most until the bar. */
export async function untilQuiet(
  { clock }: Pick<World, 'clock'>,
  { settleMs, untilMs, isQuiet }: { settleMs: number; untilMs: number; isQuiet(): boolean },
): Promise<boolean> {
  await clock.run(clock.now() + settleMs, () => false)
  while (clock.now() < untilMs) {
    if (isQuiet()) return true
    await clock.run(clock.now() + 1000, () => false)
  }
  return isQuiet()
}
