/** Lets one loop sleep until somebody has news; news that came before is not missed. */
export interface Waker {
  wait(): Promise<void>
  wake(): void
}

/** A waker for one waiting loop. */
export function createWaker(): Waker {
  let hasNews = false
  let resume: (() => void) | undefined
  return {
    async wait() {
      if (!hasNews) {
        await new Promise<void>(resolve => {
          resume = resolve
        })
      }
      hasNews = false
    },
    wake() {
      hasNews = true
      resume?.()
      resume = undefined
    },
  }
}
