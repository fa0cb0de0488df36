/**
 * The sign of life of the control plane: one record in every partition of every table topic. The
 * execution plane goes on for the continuity after the last one.
 */
import { partitionOf } from '#kernel/domain/ids.ts'
import { HEARTBEAT_EVERY_MS, HEARTBEAT_KIND } from '#kernel/host/live-tables.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog, OutgoingRecord } from '#kernel/ports/event-log.ts'
import type { Logger } from '#kernel/ports/logger.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import { TABLE_TOPICS } from '#topologies/topics.ts'

export interface HeartbeatWorld {
  log: EventLog
  codec: RecordCodec
  clock: Clock
  logger: Logger
}

/** Beats at once, then every five seconds; the first beat is durable when it resolves. */
export async function startHeartbeat(world: HeartbeatWorld): Promise<{ stop(): Promise<void> }> {
  const { log, clock, logger } = world
  const stopping = new AbortController()
  await beat(world)
  const beating = (async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(HEARTBEAT_EVERY_MS, stopping.signal).catch(() => {})
      if (stopping.signal.aborted) return
      await beat({ ...world, log }).catch(error => {
        logger.warn({ err: error }, 'heartbeat failed; will be retried')
      })
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await beating
    },
  }
}

async function beat({ log, codec, clock }: HeartbeatWorld): Promise<void> {
  const ends = await log.endOffsets([...TABLE_TOPICS])
  const records = TABLE_TOPICS.flatMap(topic => {
    const partitions = ends.filter(end => end.topic === topic).length
    return Array.from({ length: partitions }, (_, partition) =>
      heartbeatRecord({ codec, clock }, topic, keyIn(partition, partitions)),
    )
  })
  await log.append(records)
}

function heartbeatRecord(
  { codec, clock }: Pick<HeartbeatWorld, 'codec' | 'clock'>,
  topic: string,
  key: string,
): OutgoingRecord {
  const value = codec.encode('table-document', {
    tenant: '',
    kind: HEARTBEAT_KIND,
    id: key,
    version: 0,
    deleted: false,
    updatedAt: clock.now(),
    doc: null,
  })
  return { topic, key, value, headers: { ce_type: 'ambit.heartbeat' } }
}

const keys = new Map<string, string>()

/** A key that the one partitioner sends to the wanted partition. */
function keyIn(partition: number, partitions: number): string {
  const id = `${partition}/${partitions}`
  const known = keys.get(id)
  if (known) return known
  for (let n = 0; ; n++) {
    const key = `heartbeat/${partition}/${n}`
    if (partitionOf(key, partitions) !== partition) continue
    keys.set(id, key)
    return key
  }
}
