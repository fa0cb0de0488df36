/** Faults of our own making in what is tied to meetings: the checks must find each of them. */
import type { CalendarObject } from '#kernel/domain/calendar/calendar-object.ts'
import { hashId } from '#kernel/domain/ids.ts'
import { readable } from '#kernel/domain/readable.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { LogRecord } from '#kernel/ports/event-log.ts'
import type { RecordCodec } from '#schemas/codec.ts'
import type { TableDocument } from '#schemas/generated/records.ts'
import type { SchedulerWorld } from '#services/scheduler/run-scheduler.ts'
import { withFollowed, withLog, withValues } from '../bugs/changed-ports.ts'
import type { ScheduleBug } from './schedule-state.ts'

export const ANCHOR_BUGS: readonly ScheduleBug[] = [
  {
    name: 'moved-keeps-old',
    meaning: 'a meeting that moves keeps the instant that was computed first',
    wrap: world => {
      const seen = new Set<string>()
      const isNews = ({ key }: LogRecord) => {
        const name = Buffer.from(key ?? []).toString()
        return !seen.has(name) && seen.add(name).size > 0
      }
      return withCalendars(world, records => records.filter(isNews))
    },
  },
  {
    name: 'cancelled-fires',
    meaning: 'an instance that was cancelled is told of',
    wrap: world =>
      withCalendars(world, records =>
        records.map(record => altered(world.codec, record, standing)),
      ),
  },
  {
    name: 'cleared-is-lost',
    meaning: 'a meeting that goes when it is over suspends who was told of it',
    wrap: world =>
      withCalendars(world, records => records.map(record => bare(world.codec, record))),
  },
  {
    name: 'lost-unnoticed',
    meaning: 'nobody is told that a meeting has gone',
    wrap: world => ({ ...world, ownerOf: () => undefined }),
  },
  {
    name: 'lost-twice',
    meaning: 'each try to suspend is another request',
    wrap: (world, { clock }) => ({
      ...world,
      writer: withValues(
        world.writer,
        topic => topic === 'registry.changes',
        value => ({ ...value, changeId: hashId('x', String(value.changeId), clock.now()) }),
      ),
    }),
  },
  {
    name: 'calendar-behind',
    meaning: 'calendars are not read to their end before a meeting is decided',
    wrap: world =>
      withLog(world, log => ({
        follow: async options => {
          const following = await log.follow(options)
          return isCalendars(options.topics) ? { ...following, barrier: async () => {} } : following
        },
      })),
  },
  {
    name: 'identity-without-instance',
    meaning: 'two meetings that are due at one instant are one message',
    wrap: world => ({ ...world, writer: withIdentity(world.writer, ({ time }) => String(time)) }),
  },
  {
    name: 'identity-by-revision',
    meaning: 'an edit at the instant makes two messages of it',
    wrap: world => ({
      ...world,
      writer: withIdentity(world.writer, ({ id }) => String(id)),
    }),
  },
  {
    name: 'writers-clock',
    meaning: 'a meeting was told of when its writer thinks so, whose clock is hours off',
    wrap: world =>
      withCalendars(world, records =>
        records.map(record => {
          const document = documentOf(world.codec, record)
          return document ? { ...record, timestamp: document.updatedAt } : record
        }),
      ),
  },
]

const isCalendars = (topics: string[]) => topics.includes('calendar.objects')

function withCalendars(
  world: SchedulerWorld,
  change: (records: LogRecord[]) => LogRecord[],
): SchedulerWorld {
  return withFollowed(world, (records, { topics }) =>
    isCalendars(topics) ? change(records) : records,
  )
}

function documentOf(codec: RecordCodec, { value }: LogRecord): TableDocument | undefined {
  return value ? readable(() => codec.decode('table-document', value)) : undefined
}

function altered(
  codec: RecordCodec,
  record: LogRecord,
  change: (object: CalendarObject) => CalendarObject,
): LogRecord {
  const document = documentOf(codec, record)
  if (document?.kind !== 'calendar-object' || document.deleted) return record
  const doc = change(document.doc as CalendarObject)
  return { ...record, value: codec.encode('table-document', { ...document, doc }) }
}

/** Deletions as if nobody knew what was deleted. */
function bare(codec: RecordCodec, record: LogRecord): LogRecord {
  const document = documentOf(codec, record)
  if (!document?.deleted) return record
  const { calendar, uid } = document.doc as CalendarObject
  return {
    ...record,
    value: codec.encode('table-document', { ...document, doc: { calendar, uid } }),
  }
}

/** Cancelled instances as if they stood. */
function standing(object: CalendarObject): CalendarObject {
  const exceptions = object.exceptions.map(each => ({ ...each, status: 'confirmed' as const }))
  return { ...object, exceptions }
}

type Value = Record<string, unknown>

/** What the guard recognises an occurrence by. */
function withIdentity(writer: RecordWriter, of: (attributes: Value) => string): RecordWriter {
  const isAnchored = (topic: string) => topic === 'ingress.calendar'
  return withValues(writer, isAnchored, ({ attributes, ...rest }) => {
    const own = attributes as Value
    return { ...rest, attributes: { ...own, dedupkey: of(own) } }
  })
}
