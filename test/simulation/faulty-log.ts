/** Faults of the log: what a call meets on its way, and what an unlucky producer does. */
import type { LogCall } from '#kernel/adapters/memory/memory-event-log.ts'
import type { MemoryHooks } from '#kernel/adapters/memory/memory-instance.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { FaultWorld } from './fault-world.ts'
import type { Liveness } from './sim-process.ts'

const timedOut = () => new AmbitError('log-unavailable', 'The call to the log timed out.')

/** How often each fault strikes a single call, before the seed's intensity. */
const RATES = { crash: 0.0006, produce: 0.006, duplicate: 0.004, torn: 0.004, commit: 0.004 }

/** Latency, crashes and time-outs around every call. */
export function logHooks(world: FaultWorld): MemoryHooks<LogCall> {
  const { faults, intensity } = world
  return {
    async before(call) {
      const process = world.processOf(call.instance)
      if (!process) return
      await world.latency()
      await process.awake()
      if (faults.strikes('F1', RATES.crash * intensity)) return world.crash(process.node, 'F1')
      if (world.isDiskFull()) throw timedOut()
      if (call.op === 'append' && faults.strikes('F5', RATES.produce * intensity)) {
        await world.patience()
        throw timedOut()
      }
      if (call.op === 'commit' && faults.strikes('F2', RATES.commit * intensity)) {
        world.crash(process.node, 'F2')
      }
    },
    async after(call) {
      const process = world.processOf(call.instance)
      if (!process) return
      if (call.op === 'commit') world.history.committed(call.group, call.position)
      if (call.op !== 'append') return
      if (faults.strikes('F1', RATES.crash * intensity)) return world.crash(process.node, 'F1')
      const isIngress = call.records.some(({ topic }) => topic.startsWith('ingress.'))
      if (isIngress && faults.strikes('F3', RATES.produce * intensity)) {
        return world.crash(process.node, 'F3')
      }
      await world.latency()
      if (faults.strikes('F4', RATES.produce * intensity)) {
        await world.patience()
        throw timedOut()
      }
      await process.awake()
    },
  }
}

/** The log as one process uses it: appends may be torn or doubled, handlers wait while frozen. */
export function faultyLog(inner: EventLog, world: FaultWorld, life: Liveness): EventLog {
  const { faults, intensity, random } = world
  return {
    ...inner,
    async append(records) {
      if (records.length > 1 && faults.strikes('F5', RATES.torn * intensity)) {
        await inner.append(records.slice(0, random.between(1, records.length - 1)))
        throw timedOut()
      }
      const positions = await inner.append(records)
      if (faults.strikes('F6', RATES.duplicate * intensity)) await inner.append(records)
      return positions
    },
    consume: options =>
      inner.consume({
        ...options,
        async onAssigned(partitions) {
          await life.awake()
          await options.onAssigned?.(partitions)
        },
        async handle(batch) {
          await life.awake()
          try {
            await options.handle(batch)
          } catch (error) {
            const { topic, partition } = batch
            const first = batch.records[0]?.offset
            world.history.incident(`${options.group} ${topic}/${partition}@${first}: ${error}`)
            throw error
          }
        },
      }),
    follow: options =>
      inner.follow({
        ...options,
        async onRecords(records) {
          await life.awake()
          await options.onRecords(records)
        },
      }),
  }
}
