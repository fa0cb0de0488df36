/** A calendar as the registry keeps it: where its objects come from, and whose it is. */
import { z } from 'zod'
import { zoneClock } from '../recurrence/zone-clock.ts'
import { nameSchema } from '../subscription.ts'

/** Name of a calendar: it stands in a path and in anchors. */
export const calendarNameSchema = nameSchema

/** Name of an IANA zone. */
export const zoneSchema = z
  .string()
  .min(1)
  .max(64)
  .refine(name => zoneClock(name) !== null, { message: 'an IANA time zone such as Europe/Madrid' })

/** `PUT /v1/calendars/{name}` in JSON: a feed that is polled. */
export const feedSchema = z.strictObject({
  /** `https:`; `webcal:` means the same. It is stored encrypted, for it may be a secret. */
  url: z.string().min(1).max(2048),
  /** Ms between two polls. Default 15 minutes. */
  everyMs: z
    .int()
    .min(60_000)
    .max(31 * 86_400_000)
    .default(900_000),
  /** Zone of floating times and days where the file names none. Default: the policy's. */
  zone: zoneSchema.optional(),
})

export type FeedInput = z.infer<typeof feedSchema>

/** The stored form. */
export interface Calendar {
  id: string
  tenant: string
  version: number
  /** `local`: by upload and the object API. `feed`: by polling. */
  kind: 'local' | 'feed'
  /** Who put it there, and is told when its feed fails. */
  owner: string
  zone: string | null
  /** Sealed address of a feed. */
  url: string | null
  /** Scheme and host of the address, for people. */
  origin: string | null
  everyMs: number | null
}

/** What the poller remembers of a feed, in the table `calendar.objects`. */
export interface FeedState {
  /** Version of the calendar that it belongs to; another one is fetched at once. */
  calendarVersion: number
  etag: string | null
  lastModified: string | null
  /** Ms since the epoch; `null` before the first. */
  lastFetchAt: number | null
  lastOkAt: number | null
  /** Fixed words, never what a server said. */
  lastError: string | null
  /** Failures in a row. */
  failures: number
  /** What the last whole import had, for people. */
  objects: number
  skipped: number
}
