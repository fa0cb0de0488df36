/**
 * A meeting with a reminder half an hour before it. It is put so that its reminder comes in some
 * minutes, and moved while the demo runs: the reminder moves with it, and comes once.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '#services/client/create-client.ts'

/** Calendar of the demo, and the category that its subscription is anchored to. */
export const DEMO_CALENDAR = 'demo'
export const DEMO_CATEGORY = 'demo'
/** The reminder comes so long before the meeting. */
export const REMIND_BEFORE_MS = 30 * 60_000

const FIRST_REMINDER_MS = 5 * 60_000
const MOVED_AFTER_MS = 8000
const MOVED_REMINDER_MS = 20_000

/** Puts the meeting, then moves it; resolves when it was moved. */
export async function moveMeeting(
  client: Client,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  await putMeeting(client, FIRST_REMINDER_MS)
  await delay(MOVED_AFTER_MS, undefined, { signal })
  await putMeeting(client, MOVED_REMINDER_MS)
  print('The planning meeting was moved: its reminder comes in 20 seconds, not in five minutes.')
}

/** A meeting of half an hour whose reminder is due in so many ms. */
async function putMeeting(client: Client, reminderInMs: number): Promise<void> {
  const start = new Date(Date.now() + reminderInMs + REMIND_BEFORE_MS).toISOString()
  const meeting = { start, durationMs: 1_800_000, summary: 'Planning', categories: [DEMO_CATEGORY] }
  await client.calendars.putObject(DEMO_CALENDAR, 'planning', meeting)
}
