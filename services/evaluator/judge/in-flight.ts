/** At most so many at once; the others wait in their order. */
export interface InFlight {
  run<T>(work: () => Promise<T>): Promise<T>
}

export function createInFlight(max: number): InFlight {
  let running = 0
  const waiting: (() => void)[] = []
  return {
    async run(work) {
      if (running >= max) await new Promise<void>(resolve => waiting.push(resolve))
      else running += 1
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        // The place goes to the next one directly, so that nobody slips in between.
        if (next) next()
        else running -= 1
      }
    },
  }
}
