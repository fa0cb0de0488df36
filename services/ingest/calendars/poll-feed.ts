/** One poll of a feed: fetch, import, remember, and tell the owner when it keeps failing. */

import type { Calendar, FeedState } from '#kernel/domain/calendar/calendar.ts'
import { CALENDAR_FEED_KIND } from '#kernel/domain/calendar/calendar-object.ts'
import { hashId, tenantKey } from '#kernel/domain/ids.ts'
import type { Directory } from '#kernel/host/directory.ts'
import type { RecordWriter } from '#kernel/host/record-writer.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
import type { HttpSender } from '#kernel/ports/http-sender.ts'
import type { SecretResolver } from '#kernel/ports/secret-resolver.ts'
import type { CalendarPlace, CalendarStore } from './calendar-store.ts'
import { FAILURES_TOLD } from './feed-schedule.ts'
import { type FeedAnswer, fetchFeed } from './fetch-feed.ts'
import { type ImportResult, importObjects, PAST_KEPT_MS } from './import-objects.ts'

export interface FeedWorld {
  log: EventLog
  writer: RecordWriter
  store: CalendarStore
  directory: Directory
  secrets: SecretResolver
  httpSender: Pick<HttpSender, 'send' | 'check'>
  clock: Clock
}

const BLANK: Omit<FeedState, 'calendarVersion'> = {
  ...{ etag: null, lastModified: null, lastFetchAt: null, lastOkAt: null, lastError: null },
  ...{ failures: 0, objects: 0, skipped: 0 },
}

/** Zone of a calendar's floating times and days. */
export function zoneOf(world: Pick<FeedWorld, 'directory'>, place: CalendarPlace): string {
  const { tenant, calendar } = place
  return world.directory.calendar(tenant, calendar)?.zone ?? world.directory.policy(tenant).zone
}

/** Polls once. A calendar that was changed or deleted meanwhile is left alone. */
export async function pollFeed(world: FeedWorld, place: CalendarPlace): Promise<void> {
  const { store, directory, secrets, httpSender } = world
  const { tenant, calendar: name } = place
  const calendar = directory.calendar(tenant, name)
  if (calendar?.kind !== 'feed' || calendar.url === null) return
  const state = stateFor(calendar, store.feed(place))
  const url = await secrets.resolve(calendar.url)
  const answer: FeedAnswer =
    url === undefined
      ? { kind: 'failed', word: 'address-unreadable' }
      : await fetchFeed(httpSender, { ...state, url, calendar: name, zone: zoneOf(world, place) })
  await store.exclusively(place, async () => {
    if (directory.calendar(tenant, name)?.version !== calendar.version) return
    await settle(world, { place, calendar, state, answer })
  })
}

/** Another version may be another address: nothing of the old one is asked again. */
function stateFor({ version }: Calendar, state: FeedState | undefined): FeedState {
  return state?.calendarVersion === version ? state : { ...BLANK, calendarVersion: version }
}

interface Poll {
  place: CalendarPlace
  calendar: Calendar
  state: FeedState
  answer: FeedAnswer
}

/** Imports an answer and remembers how it went; the caller holds the calendar exclusively. */
export async function settle(
  world: FeedWorld,
  { place, calendar, state, answer }: Poll,
): Promise<ImportResult | undefined> {
  const { store, clock } = world
  const now = clock.now()
  const remember = (next: Partial<FeedState>) =>
    store.write(place, [{ kind: CALENDAR_FEED_KIND, doc: { ...state, lastFetchAt: now, ...next } }])
  if (answer.kind === 'failed') {
    const failures = state.failures + 1
    if (failures === FAILURES_TOLD) await tell(world, { place, calendar, state, word: answer.word })
    await remember({ failures, lastError: answer.word })
    return undefined
  }
  const fine = { failures: 0, lastError: null, lastOkAt: now }
  if (answer.kind === 'unchanged') {
    await remember(fine)
    return undefined
  }
  const { parsed, etag, lastModified } = answer
  // The first import shows all that a feed has; later ones do not bring back what was cleared away.
  const overBeforeMs = state.lastOkAt === null ? undefined : now - PAST_KEPT_MS
  const result = await importObjects(store, place, parsed, { overBeforeMs })
  const { objects, skipped } = result
  await remember({ ...fine, etag, lastModified, objects, skipped: skipped.length })
  return result
}

/** The first state of a feed that is being put. */
export function firstState(calendar: Calendar): FeedState {
  return { ...BLANK, calendarVersion: calendar.version }
}

async function tell(
  { log, writer, clock }: FeedWorld,
  failing: Omit<Poll, 'answer'> & { word: string },
): Promise<void> {
  const { place, calendar, state, word } = failing
  const { tenant, calendar: name } = place
  // One notice for each outage: it is named by the success before it.
  const cause = `calendar-feed/${name}/${calendar.version}/${state.lastOkAt ?? 'never'}`
  const id = hashId('n', tenant, cause)
  const value = {
    ...{ id, tenant, kind: 'calendar-feed-failing', severity: 'warning', cause },
    ...{ owner: calendar.owner, subscription: null, agent: null, messageId: null },
    text:
      `The feed of the calendar ${name} fails: ${word}. ` +
      'Its meetings are as of the last success.',
    details: { calendar: name, word, failures: FAILURES_TOLD, lastOkAt: state.lastOkAt },
    at: clock.now(),
  }
  const key = tenantKey(tenant, calendar.owner)
  await log.append([writer.encode({ topic: 'notices', key, id, tenant, value })])
}
