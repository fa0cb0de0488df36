/** Reads topics of an installation from outside, decoded, from the beginning and on. */
import { createKafkaEventLog } from '#kernel/adapters/kafka/kafka-event-log.ts'
import type { EventLog, LogRecord } from '#kernel/ports/event-log.ts'
import { createRecordCodec, type RecordTypes } from '#schemas/codec.ts'
import type { Cluster } from '#test/support/cluster.ts'
import { TOPICS } from '#topologies/topics.ts'

type Topics = typeof TOPICS

/** What to do with each record of a topic; tombstones are left out. */
export type TopicReaders = {
  [T in keyof Topics]?: (value: RecordTypes[Topics[T]['record']], record: LogRecord) => void
}

export interface FollowedTopics {
  log: EventLog
  /** Resolves when everything written before the call was read. */
  barrier(): Promise<void>
  stop(): Promise<void>
}

/** Begins to read; what lies there already comes first. */
export async function followTopics(
  { brokers, prefix }: Cluster,
  readers: TopicReaders,
): Promise<FollowedTopics> {
  const log = createKafkaEventLog({ brokers, prefix })
  const codec = createRecordCodec({ subjectPrefix: prefix })
  await codec.ready()
  const read = (record: LogRecord) => {
    const topic = record.topic as keyof Topics
    if (!record.value) return
    const value = codec.decode(TOPICS[topic].record, record.value)
    const reader = readers[topic] as ((value: unknown, record: LogRecord) => void) | undefined
    reader?.(value, record)
  }
  const following = await log.follow({
    topics: Object.keys(readers),
    from: 'beginning',
    onRecords: records => records.forEach(read),
  })
  return { log, barrier: () => following.barrier(), stop: () => log.stop() }
}
