import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '#kernel/adapters/system/system-clock.ts'
import { createNodeClock, createWorldClock } from '#test/simulation/virtual-clock.ts'
import { createManualClock } from '#test/support/manual-clock.ts'
import { clockContract } from './clock.ts'

const START = 1_700_000_000_000

clockContract('system', () => ({
  clock: systemClock,
  async elapse(ms) {
    const end = systemClock.now() + ms
    while (systemClock.now() < end) await delay(1)
  },
}))

clockContract('simulated', () => {
  const world = createWorldClock(START)
  const whenAwake = (act: () => void) => act()
  const clock = createNodeClock({ world, skewMs: () => 0, ring: whenAwake, whenAwake })
  return {
    clock,
    elapse: async ms => void (await world.run(world.now() + ms, () => false)),
  }
})

clockContract('manual', () => {
  const clock = createManualClock(START)
  return { clock, elapse: ms => clock.advance(ms) }
})
