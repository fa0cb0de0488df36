/** A fault of our own making: the simulator must find it. */
import type { SimProcess } from '../sim-process.ts'
import type { World } from '../world.ts'

export interface Bug {
  name: string
  /** What the product would have done wrong. */
  meaning: string
  /** Gives a process ports that misbehave. */
  wrap?(process: SimProcess, world: World): SimProcess
  /** Spoils the world before anything starts. */
  plant?(world: World): void
  /** Takes back what reaches beyond the world. */
  unplant?(): void | Promise<void>
}
