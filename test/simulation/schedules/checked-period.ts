/** What the checks of schedules have in common. */
import type { Anchor } from '#kernel/domain/trigger.ts'
import { DAY_MS, type Written } from './schedule-state.ts'

/** Tells of a violation; the ids find what the trace shows of it. */
export type Tell = (text: string, ...ids: string[]) => void

/** One unbroken period of a subscription's schedule. */
export interface Period {
  id: string
  start: Written
  /** When an edit ended it; `null` at the end of the seed. */
  endMs: number | null
}

/** Undecided instants are void when an edit comes within this time. */
export const SETTLED_MS = 3 * DAY_MS

/** An id of a subscription or meeting as records hold it: it is too short to be looked for bare. */
export const named = (id: string) => `"${id}"`

/** What a version is tied to; undefined for a schedule of the clock, and where there is none. */
export function anchorIn({ schedule }: Written['doc']): Anchor['anchor'] | undefined {
  return schedule && 'anchor' in schedule ? schedule.anchor : undefined
}
