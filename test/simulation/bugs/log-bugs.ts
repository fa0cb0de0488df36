/** Bugs of those who use the log, planted between them and it. */
import { readable } from '#kernel/domain/readable.ts'
import type { FollowOptions, LogRecord, OutgoingRecord } from '#kernel/ports/event-log.ts'
import type { SimProcess } from '../sim-process.ts'
import type { Bug, World } from '../world.ts'
import { withAppend, withFollowed, withLog } from './changed-ports.ts'

/** A process whose table documents are changed while it reads them. */
function withTables(
  process: SimProcess,
  { codec }: World,
  edit: (document: { version: number; doc: unknown }) => void,
): SimProcess {
  const change = (record: LogRecord): LogRecord => {
    const { topic, value } = record
    if (topic !== 'subscriptions' || !value) return record
    const document = readable(() => codec.decode('table-document', value))
    if (document?.kind !== 'subscription') return record
    edit(document)
    return { ...record, value: codec.encode('table-document', document) }
  }
  return withFollowed(process, records => records.map(change))
}

function withoutLineage(record: OutgoingRecord, { codec }: World): OutgoingRecord {
  if (record.topic !== 'ingress.platform' || !record.value) return record
  const event = codec.decode('event', record.value)
  const { lineage: _lineage, ...attributes } = event.attributes
  return { ...record, value: codec.encode('event', { ...event, attributes }) }
}

/** Is the record a change marker? */
function isMarker({ topic, value }: LogRecord, { codec }: World): boolean {
  if (topic !== 'candidates' || !value) return false
  return readable(() => codec.decode('candidate', value))?.kind === 'marker'
}

/** Looks at the newest records only, as a new owner does. */
const isTail = (from: FollowOptions['from']) => typeof from === 'object' && 'offsets' in from

export const LOG_BUGS: readonly Bug[] = [
  {
    name: 'offsets-first',
    meaning: 'the offset is stored before the records were handled',
    wrap: process =>
      withLog(process, log => ({
        consume: options =>
          log.consume({
            ...options,
            async handle(batch) {
              await batch.commit((batch.records.at(-1)?.offset ?? -1) + 1)
              await options.handle(batch)
            },
          }),
      })),
  },
  {
    name: 'answer-before-durable',
    meaning: 'an append is answered before it is written',
    wrap: (process, world) =>
      withLog(process, log => ({
        async append(records) {
          if (!records.some(({ topic }) => topic.startsWith('ingress.'))) return log.append(records)
          world.clock.after(200, () => {
            if (!process.isDead()) void log.append(records).catch(() => {})
          })
          return []
        },
      })),
  },
  {
    name: 'lineage-dropped',
    meaning: 'events of runs carry no lineage',
    wrap: (process, world) =>
      withAppend(process, records => records.map(record => withoutLineage(record, world))),
  },
  {
    name: 'poison-stops',
    meaning: 'a record that cannot be read stops its partition',
    wrap: (process, world) =>
      withLog(process, log => ({
        consume: options =>
          log.consume({
            ...options,
            async handle(batch) {
              const bad = batch.records.find(({ value }) => value && value.length < 6)
              if (bad) throw new Error(`unreadable at ${world.clock.now()}`)
              await options.handle(batch)
            },
          }),
      })),
  },
  {
    name: 'marker-ignored',
    meaning: 'the guard knows changes from its table alone, and that lags',
    wrap: (process, world) =>
      withLog(process, log => ({
        follow: options => {
          if (!options.topics.includes('subscriptions')) return log.follow(options)
          return log
            .follow({
              ...options,
              async onRecords(records) {
                await process.clock.sleep(400)
                await options.onRecords(records)
              },
            })
            .then(following => ({ ...following, barrier: async () => {} }))
        },
        consume: options =>
          log.consume({
            ...options,
            handle: batch => {
              const records = batch.records.filter(record => !isMarker(record, world))
              return options.handle({ ...batch, records: records.length > 0 ? records : [] })
            },
          }),
      })),
  },
  {
    name: 'no-read-barrier',
    meaning: 'events are matched before the tables have caught up',
    wrap: process =>
      withLog(process, log => ({
        follow: async options => {
          if (!options.topics.includes('subscriptions')) return log.follow(options)
          const following = await log.follow({
            ...options,
            async onRecords(records) {
              await process.clock.sleep(300)
              await options.onRecords(records)
            },
          })
          let isFirst = true
          return {
            ...following,
            async barrier(timeoutMs) {
              if (isFirst) await following.barrier(timeoutMs)
              isFirst = false
            },
          }
        },
      })),
  },
  {
    name: 'late-append-wins',
    meaning: 'the last record of a table wins, whatever its version',
    wrap: (process, world) => {
      let versions = 0
      return withTables(process, world, document => {
        versions += 1
        document.version = versions
      })
    },
  },
  {
    name: 'start-ignored',
    meaning: 'a new subscription sees events from before its start',
    wrap: (process, world) =>
      withTables(process, world, ({ doc }) => Object.assign(doc as object, { startsAt: {} })),
  },
  {
    name: 'rebuild-skipped',
    meaning: 'a store that was lost is not filled from the log',
    wrap: process =>
      withLog(process, log => ({
        follow: options => {
          const isRebuild = options.partitions && !isTail(options.from)
          return log.follow(isRebuild ? { ...options, onRecords: () => {} } : options)
        },
      })),
  },
  {
    name: 'decisions-kept-back',
    meaning: 'messages are appended and the decisions behind them are not',
    wrap: process =>
      withAppend(process, records => records.filter(({ topic }) => topic !== 'decisions')),
  },
]
