/** Entries of one tenant, the one that is due first on top; each knows its place. */
import type { ScheduleEntry } from './schedule-entry.ts'

export interface DueHeap {
  readonly size: number
  peek(): ScheduleEntry | undefined
  /** Puts an entry in, or to its new place after `nextMs` changed. */
  place(entry: ScheduleEntry): void
  /** Takes an entry out; one that is not in is left alone. */
  remove(entry: ScheduleEntry): void
}

export function createDueHeap(): DueHeap {
  const heap: ScheduleEntry[] = []
  const put = (entry: ScheduleEntry, at: number) => {
    heap[at] = entry
    entry.heapAt = at
  }
  const up = (entry: ScheduleEntry, from: number) => {
    let at = from
    while (at > 0) {
      const parent = heap[(at - 1) >> 1]
      if (!parent || parent.nextMs <= entry.nextMs) break
      put(parent, at)
      at = (at - 1) >> 1
    }
    put(entry, at)
    return at
  }
  const down = (entry: ScheduleEntry, from: number) => {
    let at = from
    for (;;) {
      const left = heap[2 * at + 1]
      const right = heap[2 * at + 2]
      const child = right && left && right.nextMs < left.nextMs ? right : left
      if (!child || child.nextMs >= entry.nextMs) break
      const freed = child.heapAt
      put(child, at)
      at = freed
    }
    put(entry, at)
  }
  return {
    get size() {
      return heap.length
    },
    peek: () => heap[0],
    place(entry) {
      if (entry.heapAt < 0) up(entry, heap.length)
      else down(entry, up(entry, entry.heapAt))
    },
    remove(entry) {
      const at = entry.heapAt
      if (at < 0) return
      entry.heapAt = -1
      const last = heap.pop()
      if (last && last !== entry) down(last, up(last, at))
    },
  }
}
