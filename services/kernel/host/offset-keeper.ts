/**
 * Stores offsets of finished batches now and then instead of after each: one that is stored late
 * only means that records come again, which every step recognises, while a request per batch
 * would cost as much as the batch. Never above the lowest unfinished record, since a partition's
 * batches end in order (I4).
 */
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
    const all = [...waiting.values()]
    waiting.clear()
    await Promise.all(all.map(each => store(each, logger)))
  }
  const storeLater = async () => {
    await clock.sleep(EVERY_MS)
    isWaiting = false
    if (!isStopped) await storeAll()
  }
  return {
    async finished(batch, next) {
      // The last batch in hand: nobody comes back for it later.
      if (isStopped) return store({ batch, next }, logger)
      waiting.set(`${batch.topic}/${batch.partition}`, { batch, next })
      if (isWaiting) return
      isWaiting = true
      void storeLater()
    },
    async stop() {
      isStopped = true
      await storeAll()
    },
  }
}

/** What a former owner could not store, the next one reads again. */
async function store({ batch, next }: Finished, logger: Logger): Promise<void> {
  if (!batch.isOwned()) return
  const { topic, partition } = batch
  await batch.commit(next).catch(error => {
    logger.debug({ topic, partition, err: error }, 'an offset was not stored')
  })
}
