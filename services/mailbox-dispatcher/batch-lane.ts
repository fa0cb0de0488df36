/**
 * Gathers work of one key that comes while a batch of it is being committed, and hands the next
 * batch over together: operations of one mailbox meet at its document, so one commit for many is
 * the difference between a mailbox that does hundreds of operations a second and thousands.
 */

/** Operations of one commit. */
const BATCH_MAX = 64

interface Waiting<I, O> {
  item: I
  resolve(value: O): void
  reject(error: unknown): void
}

/**
 * `run` gets the items of one key in the order in which they came, and answers each. When it
 * rejects, all of the batch reject.
 */
export function createBatchLane<I, O>(
  run: (items: I[]) => Promise<PromiseSettledResult<O>[]>,
): (key: string, item: I) => Promise<O> {
  const lanes = new Map<string, Waiting<I, O>[]>()
  const work = async (key: string, waiting: Waiting<I, O>[]) => {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, BATCH_MAX)
      await runBatch(run, batch)
    }
    lanes.delete(key)
  }
  return (key, item) =>
    new Promise((resolve, reject) => {
      const entry = { item, resolve, reject }
      const lane = lanes.get(key)
      if (lane) {
        lane.push(entry)
        return
      }
      const started = [entry]
      lanes.set(key, started)
      void work(key, started)
    })
}

async function runBatch<I, O>(
  run: (items: I[]) => Promise<PromiseSettledResult<O>[]>,
  batch: Waiting<I, O>[],
): Promise<void> {
  try {
    const results = await run(batch.map(({ item }) => item))
    for (const [at, { resolve, reject }] of batch.entries()) {
      const result = results[at]
      if (result?.status === 'fulfilled') resolve(result.value)
      else reject(result?.reason)
    }
  } catch (error) {
    for (const { reject } of batch) reject(error)
  }
}
