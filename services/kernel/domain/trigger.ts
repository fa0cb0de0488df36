/**
 * What may set a subscription off: events that somebody sends (`on`), the clock or a calendar
 * (`schedule`), or what a connector observes (`observe`). Each subscription has exactly one.
 */
import { z } from 'zod'

const glob = z.string().min(1).max(512)

/** A trigger on events: exact names or globs with `*`; an omitted list matches all. */
export const onSchema = z.strictObject({
  types: z.array(glob).min(1).max(64).optional(),
  sources: z.array(glob).min(1).max(64).optional(),
})

const LOCAL = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?$/
const localTime = z.string().regex(LOCAL, 'a local date-time such as 2026-12-01T09:00:00')
/** Local in `tzid`, or an instant with `Z`. */
const listedTime = z.string().regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2})?Z?$/, {
  message: 'a date-time such as 2026-12-01T09:00:00, local or with Z',
})
const zone = z.string().min(1).max(64)
const name = z.string().min(1).max(128)

const onceSchema = z.strictObject({ once: localTime, tzid: zone })

/** RFC 5545 RRULE, RDATE and EXDATE over local time in an IANA zone. */
const recurrenceSchema = z.strictObject({
  dtstart: localTime,
  tzid: zone,
  rrule: z.string().min(1).max(1024).nullable().optional(),
  rdates: z.array(listedTime).max(500).optional(),
  exdates: z.array(listedTime).max(500).optional(),
  /** What happens to instants that nobody was there for. Default `latest`. */
  missed: z.enum(['latest', 'all', 'none']).default('latest'),
  /** Ms within which the dispatch of an instant is spread. Default 0. */
  jitterMs: z.int().min(0).max(3_600_000).default(0),
})

const anchorQuery = z
  .strictObject({
    category: name.optional(),
    attendee: z.string().min(1).max(256).optional(),
    summaryPrefix: z.string().min(1).max(256).optional(),
  })
  .refine(query => Object.values(query).some(value => value !== undefined), {
    message: 'at least one of category, attendee and summaryPrefix',
  })

/** One calendar object, or all that a query finds; before or after one of its edges. */
const anchorSchema = z.strictObject({
  anchor: z
    .strictObject({
      calendar: name,
      uid: z.string().min(1).max(512).optional(),
      query: anchorQuery.optional(),
      edge: z.enum(['start', 'end']).default('start'),
      /** Ms added to the edge; negative is before it. Default 0. */
      offsetMs: z.int().min(-31_622_400_000).max(31_622_400_000).default(0),
    })
    .refine(({ uid, query }) => (uid === undefined) !== (query === undefined), {
      message: 'exactly one of uid and query',
    }),
  missed: z.enum(['latest', 'all', 'none']).default('latest'),
})

export const scheduleSchema = z.union([onceSchema, recurrenceSchema, anchorSchema], {
  error:
    '{once, tzid}, {dtstart, tzid, rrule} or {anchor}, with what belongs to each; ' +
    'docs/schedules.md says so, and how to write a cron line',
})

const pointer = z
  .string()
  .max(256)
  .regex(/^(\/|$)/, 'a JSON Pointer such as /items')

/** A shared, bounded read of a connector's operation. */
export const observeSchema = z.strictObject({
  connector: name,
  operation: z.string().min(1).max(256),
  arguments: z.record(z.string(), z.unknown()).default({}),
  /** Ms between two polls, a second at least; the shortest of all subscribers counts. */
  everyMs: z.int().min(1000).max(31_622_400_000),
  /** Where the answer holds its list. Default: the whole answer. */
  itemsPointer: pointer.default(''),
  /** Where an item holds its identity. */
  identityPointer: pointer.default('/id'),
  /** `changed` reports new items too. Default `new`. */
  watch: z.enum(['new', 'changed']).default('new'),
  /** Items that the first observation may emit. Default 0. */
  backfill: z.int().min(0).max(1000).default(0),
  /** Argument that takes the position, and where an answer holds the next one. */
  cursorArgument: z.string().min(1).max(128).optional(),
  cursorPointer: pointer.optional(),
})

export type Anchor = z.infer<typeof anchorSchema>
export type Schedule = z.infer<typeof scheduleSchema>
export type Observe = z.infer<typeof observeSchema>

/** The stored trigger: exactly one is set. */
export interface Trigger {
  on: z.infer<typeof onSchema> | null
  schedule: Schedule | null
  observe: Observe | null
}
