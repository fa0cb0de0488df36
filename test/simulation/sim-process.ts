/** One process of the simulated world: it can be frozen, and it can die at any await. */
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { Ids } from '#kernel/ports/ids.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'

export interface SimProcess {
  /** `guard-1.3`: the third life of the node `guard-1`. */
  readonly name: string
  readonly node: string
  readonly log: EventLog
  readonly store: StateStore
  readonly clock: Clock
  readonly ids: Ids
  isDead(): boolean
  /** Ends the process; nobody inside gets another answer. */
  die(): void
  /** Resolves when the process is not frozen; never for a dead one. */
  awake(): Promise<void>
  /** Runs now, or when the process is awake again; never in a dead one. */
  whenAwake(act: () => void): void
  freeze(): void
  thaw(): void
}

/** Freezing and dying of one process, apart from its ports. */
export type Liveness = Pick<
  SimProcess,
  'isDead' | 'die' | 'awake' | 'whenAwake' | 'freeze' | 'thaw'
>

export function createLiveness(onDeath: () => void): Liveness {
  let isDead = false
  let isFrozen = false
  let waiting: (() => void)[] = []
  const whenAwake = (act: () => void) => {
    if (isDead) return
    if (isFrozen) waiting.push(act)
    else act()
  }
  return {
    isDead: () => isDead,
    die() {
      if (isDead) return
      isDead = true
      waiting = []
      onDeath()
    },
    awake: () => new Promise(resolve => whenAwake(resolve)),
    whenAwake,
    freeze: () => {
      isFrozen = true
    },
    thaw() {
      isFrozen = false
      const all = waiting
      waiting = []
      for (const act of all) whenAwake(act)
    },
  }
}
