/** What planted faults need of the world. */
import type { Faults } from './faults.ts'
import type { History } from './history.ts'
import type { Random } from './random.ts'
import type { SimProcess } from './sim-process.ts'

export interface FaultWorld {
  faults: Faults
  history: History
  random: Random
  /** Multiplies all probabilities: gentle seeds and rough ones. */
  intensity: number
  processOf(instance: string): SimProcess | undefined
  crash(node: string, why: string): void
  /** A short wait on the way to log or store. */
  latency(): Promise<void>
  /** How long a caller waits before it gives a call up. */
  patience(): Promise<void>
  isReadOnly(): boolean
  isDiskFull(): boolean
}
