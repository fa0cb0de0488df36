/** What the simulator plays: one kind of world, many seeds of it. */
import type { Violation } from './violation.ts'

export interface SeedOrder {
  seed: number
  /** How much happens: events that producers send, or what stands for them in this world. */
  events: number
  isFaultless: boolean
  /** Name of a planted bug of this world. */
  bug?: string
}

export interface SeedResult {
  seed: number
  /** Hash of everything that happened (I20). */
  hash: string
  violations: Violation[]
  /** Lines of the trace about the first violation. */
  trace: string[]
  /** What the seed reached, such as `fault F7` or `fate delivered`. */
  coverage: string[]
}

export interface SimWorld {
  /** As `--world` names it. */
  name: string
  meaning: string
  bugs: readonly { name: string; meaning: string }[]
  /** Everything that a run of many seeds should reach. */
  wanted(): string[]
  /** Runs a seed; the same order gives the same result. */
  run(order: SeedOrder): Promise<SeedResult>
}
