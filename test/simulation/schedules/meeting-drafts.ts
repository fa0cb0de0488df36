/** Meetings as their authors have them, in the members of the object API, and their edits. */

import { nextInstances } from '#kernel/domain/calendar/expand-object.ts'
import { objectFrom, objectSchema } from '#kernel/domain/calendar/object-input.ts'
import type { Random } from '../random.ts'
import { ZONES } from './schedule-plan.ts'
import { DAY_MS, MINUTE_MS } from './schedule-state.ts'

export interface DraftException {
  recurrenceId: string
  range: 'this' | 'thisAndFuture'
  start?: string
  status?: 'cancelled'
  summary?: string
}

/** Body of `PUT …/objects/{uid}`. */
export interface Draft {
  uid: string
  /** Local in `tzid`, or a day. */
  start: string
  durationMs: number | null
  tzid: string
  status: 'confirmed' | 'cancelled'
  sequence: number
  summary: string
  attendees: string[]
  categories: string[]
  rrule: string | null
  exdates: string[]
  exceptions: DraftException[]
}

/** Few, so that several meetings share an instant. */
const TIMES = ['01:30:00', '02:30:00', '09:00:00', '09:00:00', '17:00:00']
const RULES = ['FREQ=DAILY', 'FREQ=WEEKLY', 'FREQ=DAILY;INTERVAL=3', 'FREQ=WEEKLY;INTERVAL=2']
const SUMMARIES = ['Weekly review', 'Plan', 'Weekly sync']
const SHIFTS_MS = [-3 * DAY_MS, -DAY_MS, -15 * MINUTE_MS, 15 * MINUTE_MS, DAY_MS, 3 * DAY_MS]

/** A single meeting or a series that begins about now. */
export function newDraft(random: Random, uid: string, nowMs: number): Draft {
  const isSeries = random.chance(0.6)
  const days = isSeries ? random.between(-3, 2) : random.between(1, 15)
  const day = new Date(nowMs + days * DAY_MS).toISOString().slice(0, 10)
  const isDay = random.chance(0.1)
  return {
    ...{ uid, status: 'confirmed', sequence: 0, exdates: [], exceptions: [] },
    start: isDay ? day : `${day}T${random.pick(TIMES)}`,
    durationMs: isDay ? null : random.pick([0, 30, 60, 1500]) * MINUTE_MS,
    tzid: random.pick(ZONES),
    summary: random.pick(SUMMARIES),
    attendees: random.pick([['ana@example.org'], ['bo@example.org'], []]),
    categories: random.pick([['review'], ['team'], ['review', 'team']]),
    rrule: isSeries ? random.pick(RULES) : null,
  }
}

export type DraftEdit = (draft: Draft, at: { random: Random; instance: string | null }) => Draft

/** One instance is named by where its series has it; `null` is the whole meeting. */
export const DRAFT_EDITS: Record<string, DraftEdit> = {
  move: (draft, { random, instance }) => {
    const shiftMs = random.pick(SHIFTS_MS)
    if (instance === null || random.chance(0.2)) {
      return { ...draft, start: shifted(draft.start, shiftMs), exceptions: [], exdates: [] }
    }
    const range = random.chance(0.2) ? ('thisAndFuture' as const) : ('this' as const)
    return withException(draft, {
      recurrenceId: instance,
      range,
      start: shifted(instance, shiftMs),
    })
  },
  cancel: (draft, { random, instance }) => {
    if (instance === null || random.chance(0.2)) return { ...draft, status: 'cancelled' }
    if (random.chance(0.4)) return { ...draft, exdates: [...draft.exdates, instance] }
    return withException(draft, { recurrenceId: instance, range: 'this', status: 'cancelled' })
  },
  words: (draft, { random, instance }) => {
    const summary = random.pick(SUMMARIES)
    if (instance === null || random.chance(0.5)) {
      return { ...draft, summary, categories: random.pick([['review'], ['team'], []]) }
    }
    return withException(draft, { recurrenceId: instance, range: 'this', summary })
  },
  stands: draft => ({ ...draft, status: 'confirmed' }),
  rule: (draft, { random }) => ({
    ...draft,
    rrule: random.chance(0.2) ? null : random.pick(RULES),
    ...{ exceptions: [], exdates: [] },
  }),
}

function withException(draft: Draft, exception: DraftException): Draft {
  const others = draft.exceptions.filter(each => each.recurrenceId !== exception.recurrenceId)
  return { ...draft, exceptions: [...others, exception] }
}

/** The same wall clock so much later; days stay days. */
function shifted(text: string, ms: number): string {
  if (text.length === 10) {
    const days = Math.round(ms / DAY_MS) || 1
    return new Date(Date.parse(`${text}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10)
  }
  const local = new Date(Date.parse(`${text.slice(0, 19)}Z`) + ms).toISOString().slice(0, 19)
  return text.endsWith('Z') ? `${local}Z` : local
}

export function objectOf(draft: Draft, calendar: string) {
  const { uid } = draft
  return objectFrom(objectSchema.parse(draft), { calendar, uid, zone: 'UTC' })
}

/** The name of an instance about now; `null` for what happens once. */
export function instanceAbout(draft: Draft, nowMs: number, random: Random): string | null {
  const query = { edge: 'start' as const, afterMs: nowMs - 2 * 3_600_000, limit: 3 }
  const found = nextInstances(objectOf(draft, 'any'), query)
  return found.length === 0 ? null : random.pick(found).recurrenceId
}
