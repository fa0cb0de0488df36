/** Committed offsets of consumer groups, and how far behind they are. */
import type { TopicPartition } from '#kernel/ports/event-log.ts'
import type { LogStreams } from './log-streams.ts'
import type { Stream } from './log-topics.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

export interface GroupOffset extends TopicPartition {
  group: string
  /** Everything below is finished. */
  offset: number
}

export interface GroupOffsets {
  /** Resolves when durable. */
  store(offset: GroupOffset): Promise<void>
  /** The same as part of a write that is under way. */
  storeInside(offset: GroupOffset): void
  /** Where a new owner starts: what was committed durably, else the first record. */
  durable(group: string, stream: Stream): Promise<number>
  lag(group: string, topics: string[]): (TopicPartition & { lag: number })[]
}

const STORE =
  'insert into consumer_offset("group", topic, partition, "offset") values (?, ?, ?, ?) ' +
  'on conflict do update set "offset" = excluded."offset"'
const READ =
  'select "offset" from consumer_offset where "group" = ? and topic = ? and partition = ?'

/** What `store` is counted with towards the size of a group commit. */
const OFFSET_BYTES = 100

/** Offsets beside the log they belong to. */
export function createGroupOffsets(database: SqliteDatabase, streams: LogStreams): GroupOffsets {
  function storeInside({ group, topic, partition, offset }: GroupOffset): void {
    database.statement(STORE).run(group, topic, partition, offset)
  }

  function committed(group: string, { topic, partition }: Stream): number | undefined {
    const row = database.read('log-unavailable', () =>
      database.statement(READ).get(group, topic, partition),
    )
    return row && Number(row.offset)
  }

  return {
    store: offset => database.write('log-unavailable', OFFSET_BYTES, () => storeInside(offset)),
    storeInside,
    async durable(group, stream) {
      // An offset that waits for its commit may still be rolled back with what it stands for.
      await database.settled('log-unavailable')
      return committed(group, stream) ?? 0
    },
    lag: (group, topics) =>
      topics.flatMap(streams.of).map(stream => {
        const { topic, partition, durableEnd } = stream
        const from = committed(group, stream) ?? streams.firstOffset(stream)
        return { topic, partition, lag: Math.max(0, durableEnd - from) }
      }),
  }
}
