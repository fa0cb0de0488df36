/** Everything that was ever written, in one order: what checks look at and what a trace shows. */
import { createHash } from 'node:crypto'
import { readable } from '#kernel/domain/readable.ts'
import type { TopicName } from '#kernel/domain/topic-name.ts'
import type { LogRecord, Position } from '#kernel/ports/event-log.ts'
import type { RecordCodec, RecordTypes } from '#schemas/codec.ts'
import { topicRow } from '#topologies/topics.ts'

/** One record and the moment it was written. */
export interface Written {
  /** Place in the order of the whole world. */
  order: number
  /** True ms since the epoch. */
  at: number
  /** The store's time at that moment. */
  storeNow: number
  record: LogRecord
}

export interface Committed extends Position {
  group: string
  order: number
  at: number
}

export interface History {
  wrote(record: LogRecord): void
  committed(group: string, position: Position): void
  /** Something that happened to the world: a crash, a flush. */
  incident(text: string): void
  /** Records of a topic in their order, those that compaction removed included. */
  of(topic: string): readonly Written[]
  /** Decoded values; what cannot be read is left out. */
  values<N extends keyof RecordTypes>(
    topic: TopicName,
    record: N,
  ): (Written & { value: RecordTypes[N] })[]
  topics(): string[]
  readonly incidents: readonly Incident[]
  readonly commits: readonly Committed[]
  /** Position in the order, right now. */
  order(): number
  /** Hash over everything so far (I20). */
  hash(): string
  /** Lines about any of the ids, and all incidents among them. */
  lines(ids: readonly string[], max: number): string[]
}

/** What happened to the world, and what processes complained of. */
export interface Incident {
  order: number
  at: number
  text: string
}

export function createHistory(world: {
  codec: RecordCodec
  now(): number
  storeNow(): number
}): History {
  const { codec } = world
  const byTopic = new Map<string, Written[]>()
  const commits: Committed[] = []
  const incidents: Incident[] = []
  const trace = createHash('sha256')
  let order = 0
  const of = (topic: string) => byTopic.get(topic) ?? []
  return {
    commits,
    incidents,
    wrote(record) {
      order += 1
      const at = world.now()
      const { topic, partition, offset, key, value } = record
      const list = byTopic.get(topic) ?? []
      byTopic.set(topic, list)
      list.push({ order, at, storeNow: world.storeNow(), record })
      trace.update(`${order} ${at} ${topic}/${partition}/${offset}`)
      if (key) trace.update(key)
      if (value) trace.update(value)
    },
    committed(group, position) {
      order += 1
      commits.push({ ...position, group, order, at: world.now() })
    },
    incident(text) {
      order += 1
      incidents.push({ order, at: world.now(), text })
      trace.update(`${world.now()} ${text}`)
    },
    of,
    values: <N extends keyof RecordTypes>(topic: TopicName, record: N) =>
      of(topic).flatMap(written => {
        const value = decodeSafely(codec, record, written.record)
        return value ? [{ ...written, value }] : []
      }),
    topics: () => [...byTopic.keys()],
    order: () => order,
    hash: () => trace.copy().digest('hex'),
    lines: (ids, max) => linesOf({ byTopic, incidents, codec }, ids, max),
  }
}

function decodeSafely<N extends keyof RecordTypes>(
  codec: RecordCodec,
  record: N,
  { value }: LogRecord,
): RecordTypes[N] | undefined {
  return value ? readable(() => codec.decode(record, value)) : undefined
}

function linesOf(
  from: { byTopic: Map<string, Written[]>; incidents: Incident[]; codec: RecordCodec },
  ids: readonly string[],
  max: number,
): string[] {
  const found: Incident[] = [...from.incidents]
  const place = ({ topic, partition, offset }: LogRecord) => `${topic}/${partition}/${offset}`
  for (const { order, at, record } of [...from.byTopic.values()].flat()) {
    // State records name so many ids that they would hide the story.
    if (record.topic === 'guard.state') continue
    const row = topicRow(record.topic)
    const value = row && decodeSafely(from.codec, row.record, record)
    const text = JSON.stringify(value ?? null, (_, part) =>
      part instanceof Uint8Array ? `${part.length} bytes` : part,
    )
    const key = record.key ? Buffer.from(record.key).toString() : ''
    if (!ids.some(id => text.includes(id) || key.includes(id))) continue
    const fence = record.headers['x-fence']
    const signed = fence ? ` <${Buffer.from(fence).toString().slice(-12)}>` : ''
    found.push({ order, at, text: `${place(record)}${signed} ${text.slice(0, 1500)}` })
  }
  return found
    .sort((a, b) => a.order - b.order)
    .slice(-max)
    .map(({ order, at, text }) => `${order} ${new Date(at).toISOString().slice(11, 23)} ${text}`)
}
