/** `PUT /v1/calendars/{name}` with an address: fetched once before it is believed. */
import type { FeedInput } from '#kernel/domain/calendar/calendar.ts'
import { principalName } from '#kernel/domain/subscription.ts'
import { AmbitError } from '#kernel/errors.ts'
import { SendFailure } from '#kernel/ports/http-sender.ts'
import type { CalendarRoutesWorld, Caller } from './calendar-caller.ts'
import { type FeedAnswer, feedUrl, fetchFeed } from './fetch-feed.ts'
import type { ImportResult } from './import-objects.ts'
import { firstState, settle, zoneOf } from './poll-feed.ts'
import { putCalendar } from './put-calendar.ts'

/** Stores the feed and imports it; an address that gives no calendar is 422 and stores nothing. */
export async function putFeed(
  world: CalendarRoutesWorld,
  caller: Caller,
  input: FeedInput,
): Promise<ImportResult> {
  const { by, place } = caller
  const url = feedUrl(input.url)
  await checkAddress(world, url)
  const zone = input.zone ?? zoneOf(world, place)
  const request = { url, calendar: place.calendar, zone, etag: null, lastModified: null }
  const answer: FeedAnswer = await fetchFeed(world.httpSender, request)
  if (answer.kind === 'failed') throw refused(answer.word)
  return world.store.exclusively(place, async () => {
    const before = world.directory.calendar(place.tenant, place.calendar)
    const calendar = await putCalendar(world, caller, {
      ...{ kind: 'feed', owner: before?.owner ?? principalName(by), zone: input.zone ?? null },
      ...{ url: world.secrets.seal(url), origin: new URL(url).origin, everyMs: input.everyMs },
    })
    const result = await settle(world, { place, calendar, state: firstState(calendar), answer })
    return result ?? { objects: 0, changed: 0, removed: 0, skipped: [] }
  })
}

/** Also before anything is stored; every fetch checks again. */
async function checkAddress({ httpSender }: CalendarRoutesWorld, url: string): Promise<void> {
  try {
    await httpSender.check(url)
  } catch (error) {
    if (!(error instanceof SendFailure)) throw error
    throw refused(error.word)
  }
}

function refused(word: string): AmbitError {
  return new AmbitError('invalid', `/url: ${word}; name an https address of an iCalendar file.`, {
    ...{ pointer: '/url', expected: 'a public https address of a calendar', actual: word },
  })
}
