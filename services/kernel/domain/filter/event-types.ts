/**
 * Which event types a subscription takes, before any filter looks at the event.
 *
 * - An omitted list, and `*`, mean producers' and webhook types only.
 * - `platform.` types and `time.missed` must be named: by an item that is more than `*`.
 * - Every other `time.`, `calendar.` and `mcp.` event matches only its own subscription, the one
 *   that its `subject` names.
 */
import { globMatches, isBareGlob } from '../glob.ts'

/** The record of missed instants: the one `time.` type that others may listen to by name. */
const TIME_MISSED = 'time.missed'

const OWN_PREFIXES = ['time.', 'calendar.', 'mcp.'] as const

/** How an event type may be reached: by anyone, by its name only, or by its own subscription. */
export type TypeReach = 'open' | 'named' | 'own'

/** Says who may take events of the type. */
export function typeReach(type: string): TypeReach {
  if (type.startsWith('platform.') || type === TIME_MISSED) return 'named'
  return OWN_PREFIXES.some(prefix => type.startsWith(prefix)) ? 'own' : 'open'
}

/** Who asks, for `matchesTypes`. */
export interface TypeScope {
  /** The event's `subject`. */
  subject?: unknown
  /**
   * Set only for a subscription with a schedule or an observation: its id. It then takes its own
   * events and no producer's.
   */
  ownId?: string
}

/** True when the list of types and globs, seen by this subscription, takes the type. */
export function matchesTypes(
  types: readonly string[] | null | undefined,
  type: string,
  scope: TypeScope = {},
): boolean {
  const reach = typeReach(type)
  const { ownId, subject } = scope
  if (ownId === undefined ? reach === 'own' : reach === 'open' || subject !== ownId) return false
  return reach === 'named' ? isNamed(types, type) : isListed(types, type)
}

/** True when the list of sources and globs takes the source; an omitted list takes all. */
export function matchesSources(
  sources: readonly string[] | null | undefined,
  source: string,
): boolean {
  return isListed(sources, source)
}

function isListed(list: readonly string[] | null | undefined, text: string): boolean {
  if (list === null || list === undefined) return true
  return list.some(glob => globMatches(glob, text))
}

function isNamed(list: readonly string[] | null | undefined, text: string): boolean {
  if (list === null || list === undefined) return false
  return list.some(glob => !isBareGlob(glob) && globMatches(glob, text))
}
