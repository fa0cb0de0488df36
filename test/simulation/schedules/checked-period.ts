/** What the checks of schedules have in common. */
import type { Written } from './schedule-state.ts'

export type Tell = (text: string, ...ids: string[]) => void

/** One unbroken period of a subscription's schedule. */
export interface Period {
  id: string
  start: Written
  /** When an edit ended it; `null` at the end of the seed. */
  endMs: number | null
}

/** Undecided instants are void when an edit comes within this time. */
export const SETTLED_MS = 3 * 86_400_000
