/**
 * Stores offsets of finished batches now and then instead of after each: one that is stored late
 * only means that records come again, which every step recognises, while a request per batch
 * would cost as much as the batch. Never above the lowest unfinished record, since a partition's
 * batches end in order (I4).
 */
import { isAmbitError } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { RecordBatch } from '#kernel/ports/event-log.ts'
import type { Logger } from '#kernel/ports/logger.ts'

/** Longest time between the end of a batch and the request that stores its offset, ms. */
const EVERY_MS = 200

export interface OffsetKeeper {
  /** Everything of the batch's partition below `next` is finished. */
  finished(batch: RecordBatch, next: number): Promise<void>
  /** Stores what is left. */
  stop(): Promise<void>
}

interface Finished {
  batch: RecordBatch
  next: number
}

export function createOffsetKeeper({
  clock,
  logger,
}: {
  clock: Clock
  logger: Logger
}): OffsetKeeper {
  const waiting = new Map<string, Finished>()
  let isWaiting = false
  let isStopped = false
  const storeAll = async () => {
    const all = [...waiting]
    waiting.clear()
    await Promise.all(
      all.map(async ([key, each]) => {
        // A log that is away for a moment must not leave a quiet partition behind for ever.
        if ((await store(each, logger)) === 'again' && !waiting.has(key)) waitWith(key, each)
      }),
    )
  }
  const storeLater = async () => {
    await clock.sleep(EVERY_MS)
    isWaiting = false
    if (!isStopped) await storeAll()
  }
  const newest = new Map<string, number>()
  const waitWith = (key: string, each: Finished) => {
    if (isStopped || each.next < (newest.get(key) ?? 0)) return
    newest.set(key, each.next)
    waiting.set(key, each)
    if (isWaiting) return
    isWaiting = true
    void storeLater()
  }
  return {
    async finished(batch, next) {
      // The last batch in hand: nobody comes back for it later.
      if (isStopped) return void (await store({ batch, next }, logger))
      const key = `${batch.topic}/${batch.partition}`
      newest.delete(key)
      waitWith(key, { batch, next })
    },
    async stop() {
      isStopped = true
      await storeAll()
    },
  }
}

/** What a former owner could not store, the next one reads again. */
async function store({ batch, next }: Finished, logger: Logger): Promise<'done' | 'again'> {
  if (!batch.isOwned()) return 'done'
  const { topic, partition } = batch
  try {
    await batch.commit(next)
    return 'done'
  } catch (error) {
    logger.debug({ topic, partition, err: error }, 'an offset was not stored')
    return isAmbitError(error) && error.code === 'log-unavailable' ? 'again' : 'done'
  }
}
