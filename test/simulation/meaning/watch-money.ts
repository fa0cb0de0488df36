/**
 * Sees every commit of a process before anything is planted on it: which reservations it made and
 * ended, and whether a budget was ever charged above its limit (I8).
 */
import type { Commit } from '#kernel/ports/state-store.ts'
import type { SimProcess } from '../sim-process.ts'
import type { World } from '../world.ts'

/** One reservation that a process saw acknowledged. */
export interface HeldMoney {
  process: string
  tenant: string
  /** Candidate and attempt. */
  id: string
  at: number
  isUsed: boolean
  /** When its settlement was acknowledged. */
  settledAt: number | undefined
}

export interface MoneyWatch {
  held: HeldMoney[]
  /** Highest sum that a counter ever had, by tenant and counter. */
  peaks: Map<string, number>
  watch(process: SimProcess, world: World): SimProcess
}

const PREFIX = 'reservation/'

export function createMoneyWatch(): MoneyWatch {
  const held: HeldMoney[] = []
  const peaks = new Map<string, number>()
  const note = async (process: SimProcess, world: World, commit: Commit) => {
    const { tenant, put = [], add = [] } = commit
    const now = world.clock.now()
    for (const { key, body } of put.filter(each => each.key.startsWith(PREFIX))) {
      const id = key.slice(PREFIX.length)
      const known = held.findLast(each => each.id === id && each.tenant === tenant)
      if (body === null && known?.process === process.name) known.settledAt = now
      if (body === null || body.includes('"isReleased":true')) continue
      const blank = { isUsed: false, settledAt: undefined }
      held.push({ process: process.name, tenant, id, at: now, ...blank })
    }
    const counters = add.map(({ counter }) => counter).filter(name => name.startsWith('budget/'))
    if (counters.length === 0) return
    const loaded = await world.store.open('watch').load({ tenant, documents: [], counters })
    for (const [counter, sum] of loaded.counters) {
      const name = `${tenant} ${counter}`
      peaks.set(name, Math.max(sum, peaks.get(name) ?? 0))
    }
  }
  return {
    held,
    peaks,
    watch: (process, world) => ({
      ...process,
      store: {
        ...process.store,
        async commit(commit) {
          const result = await process.store.commit(commit)
          if (result.kind === 'ok') await note(process, world, commit)
          return result
        },
      },
    }),
  }
}
