/** The EventLog port on Kafka. */
import type { Consumption, EventLog, Following, Position } from '../../ports/event-log.ts'
import { createAppendLane } from './append-lane.ts'
import {
  byTopic,
  type ClusterSession,
  createClusterSession,
  EARLIEST,
  LATEST,
  placeKey,
} from './cluster-session.ts'
import type { GroupTimes } from './group-member.ts'
import {
  createKafkaConnection,
  type KafkaConnection,
  type KafkaSettings,
} from './kafka-connection.ts'
import { consumeKafka } from './kafka-consumption.ts'
import { followKafka } from './kafka-follower.ts'
import { createPositionReader } from './position-reader.ts'
import { createTopicDirectory, patiently, type TopicDirectory } from './topic-directory.ts'

/** Settings of the log; `times` are the defaults of `GroupTimes` where omitted. */
export interface KafkaEventLogSettings extends KafkaSettings {
  times?: Partial<GroupTimes>
}

const TIMES: GroupTimes = { sessionMs: 10_000, rebalanceMs: 30_000, heartbeatMs: 1000 }

interface Parts {
  connection: KafkaConnection
  session: ClusterSession
  directory: TopicDirectory
}

/**
 * A log on Kafka; topics must exist (`createTopicAdmin`). Nothing is opened before the first use.
 * Appends and reads reject with `log-unavailable` after about five seconds without the brokers;
 * consumers and followers wait for them.
 */
export function createKafkaEventLog(settings: KafkaEventLogSettings): EventLog {
  const connection = createKafkaConnection(settings)
  const times = { ...TIMES, ...settings.times }
  const session = createClusterSession(connection)
  const directory = createTopicDirectory(session)
  const parts = { connection, session, directory }
  const lane = createAppendLane(connection, directory)
  const read = createPositionReader(session)
  // Else two installations on one cluster are one group, and get each other's topics.
  const outerGroup = (group: string) => connection.outer(group)
  const running = new Set<Consumption | Following>()
  const keep = <T extends Consumption | Following>(started: T): T => {
    const tracked = {
      ...started,
      async stop() {
        running.delete(tracked)
        await started.stop()
      },
    }
    running.add(tracked)
    return tracked
  }
  return {
    append: records => lane.append(records),
    consume: async options =>
      keep(await consumeKafka(connection, { ...options, group: outerGroup(options.group) }, times)),
    follow: async options => keep(await followKafka(connection, options)),
    endOffsets: topics => endOffsets(parts, topics),
    async readAt(positions) {
      const outer = positions.map(p => ({ ...p, topic: connection.outer(p.topic) }))
      await directory.load(outer.map(({ topic }) => topic))
      const records = await read(outer)
      return records.map((record, at) => record && { ...record, topic: positions[at]?.topic ?? '' })
    },
    lag: (group, topics) => lag(parts, outerGroup(group), topics),
    async stop() {
      await Promise.all([...running].map(each => each.stop()))
      await lane.stop()
      await session.close()
    },
  }
}

function inner({ connection }: Parts, position: Position): Position {
  return { ...position, topic: connection.inner(position.topic) ?? position.topic }
}

async function endOffsets(parts: Parts, topics: string[]): Promise<Position[]> {
  const { session, directory, connection } = parts
  const outer = topics.map(connection.outer)
  await directory.load(outer)
  const places = directory.placesOf(outer)
  const ends = await patiently(session, 'name its ends', () => session.listOffsets(places, LATEST))
  return ends.map(end => inner(parts, end))
}

async function lag(parts: Parts, group: string, topics: string[]) {
  const { session, directory, connection } = parts
  const outer = topics.map(connection.outer)
  await directory.load(outer)
  const places = directory.placesOf(outer)
  if (places.length === 0) return []
  return patiently(session, 'tell the lag', async () => {
    const broker = await session.coordinator(group)
    const [first, last, { responses }] = await Promise.all([
      session.listOffsets(places, EARLIEST),
      session.listOffsets(places, LATEST),
      broker.offsetFetch({
        groupId: group,
        topics: byTopic(places, partition => ({ partition })),
      }),
    ])
    const starts = new Map(first.map(position => [placeKey(position), position.offset]))
    const committed = new Map(
      responses.flatMap(({ topic, partitions }) =>
        partitions.map(
          ({ partition, offset }) => [placeKey({ topic, partition }), Number(offset)] as const,
        ),
      ),
    )
    return last.map(end => {
      const { topic, partition } = inner(parts, end)
      const done = Math.max(starts.get(placeKey(end)) ?? 0, committed.get(placeKey(end)) ?? -1)
      return { topic, partition, lag: Math.max(0, end.offset - done) }
    })
  })
}
