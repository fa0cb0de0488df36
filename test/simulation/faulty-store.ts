/** Faults of the store: time-outs on either side of the effect, and refused writes. */
import type { MemoryHooks } from '#kernel/adapters/memory/memory-instance.ts'
import type { StoreCall } from '#kernel/adapters/memory/memory-state-store.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { FaultWorld } from './fault-world.ts'

const unavailable = (what: string) => new AmbitError('store-unavailable', `The store ${what}.`)

const RATES = { crash: 0.0006, timeout: 0.005, busy: 0.006 }

export function storeHooks(world: FaultWorld): MemoryHooks<StoreCall> {
  const { faults, intensity } = world
  const isWrite = ({ op }: StoreCall) => op === 'commit' || op === 'takeFence'
  return {
    async before(call) {
      const process = world.processOf(call.instance)
      if (!process) return
      await world.latency()
      await process.awake()
      if (faults.strikes('F1', RATES.crash * intensity)) return world.crash(process.node, 'F1')
      if (isWrite(call) && world.isReadOnly()) throw unavailable('takes no writes')
      if (isWrite(call) && world.isDiskFull()) throw unavailable('has no room')
      if (isWrite(call) && faults.strikes('F16', RATES.busy * intensity)) {
        throw unavailable('is busy')
      }
      if (faults.strikes('F10', RATES.timeout * intensity)) {
        await world.patience()
        throw unavailable('did not answer')
      }
    },
    async after(call) {
      const process = world.processOf(call.instance)
      if (!process) return
      if (faults.strikes('F1', RATES.crash * intensity)) return world.crash(process.node, 'F1')
      await world.latency()
      if (faults.strikes('F10', RATES.timeout * intensity)) {
        await world.patience()
        throw unavailable('did not answer')
      }
      await process.awake()
    },
  }
}
