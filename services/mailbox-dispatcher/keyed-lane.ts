/** Runs work of one key one after the other: fewer lost races for one document. */
export function createKeyedLane(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const tails = new Map<string, Promise<unknown>>()
  return (key, work) => {
    const next = (tails.get(key) ?? Promise.resolve()).then(work, work)
    const tail = next.then(
      () => {},
      () => {},
    )
    tails.set(key, tail)
    void tail.then(() => tails.get(key) === tail && tails.delete(key))
    return next
  }
}
