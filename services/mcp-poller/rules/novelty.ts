/**
 * What is new in a page: the position of an observation moves over it.
 *
 * - N1 An identity once seen is never new; where changes are watched, another digest is a change.
 * - N2 The first observation finds the position and emits nothing but what backfill allows.
 * - N3 The memory is bounded; what is listed again is forgotten last.
 */
import { type Item, type Page, shortHash } from './read-items.ts'

export interface Position {
  isPositioned: boolean
  cursor: string | null
  /** `hash`, or `hash:digest` where changes are watched; oldest sighting first. */
  seen: readonly string[]
}

export interface NoveltyRules {
  watch: 'new' | 'changed'
  /** Items that may be emitted before the position is found. */
  backfill: number
  /** Does the operation take a position? */
  hasCursor: boolean
  maxItems: number
}

export interface Fresh {
  item: Item
  change: 'new' | 'changed'
}

/** How far a poll has come. */
export interface Progress {
  position: Position
  fresh: Fresh[]
  pages: number
  /** Something was there that nobody had seen, emitted or not. */
  hasNews: boolean
  /** Another page should be read at once. */
  hasMore: boolean
}

/** Pages that one poll reads; what is left is for the next one. */
const PAGES_MAX = 20

/** Identities remembered, at least; never fewer than four full answers. */
const SEEN_MIN = 2000

/** Identities that an observation remembers at most. */
export function seenMax({ maxItems }: Pick<NoveltyRules, 'maxItems'>): number {
  return Math.max(SEEN_MIN, 4 * maxItems)
}

/** Is everything that was ever seen still remembered? */
export function isMemoryWhole(position: Position, rules: NoveltyRules): boolean {
  return position.seen.length < seenMax(rules)
}

export function startPoll(position: Position): Progress {
  return { position, fresh: [], pages: 0, hasNews: false, hasMore: true }
}

/** The poll after one more page. */
export function takePage(progress: Progress, page: Page, rules: NoveltyRules): Progress {
  const { position } = progress
  const seen = new Map(position.seen.map(split))
  const found: Fresh[] = []
  for (const item of lastOfEach(page.items)) {
    const key = shortHash(item.identity)
    const known = seen.get(key)
    const isChanged = rules.watch === 'changed' && known !== undefined && known !== item.digest
    if (known === undefined) found.push({ item, change: 'new' })
    else if (isChanged) found.push({ item, change: 'changed' })
    // Sighted last: forgotten last (N3).
    seen.delete(key)
    seen.set(key, rules.watch === 'changed' ? item.digest : '')
  }
  const kept = [...seen].slice(-seenMax(rules)).map(join)
  const cursor = page.cursor ?? position.cursor
  const pages = progress.pages + 1
  const isFurther = rules.hasCursor && cursor !== position.cursor && found.length > 0
  const hasMore = isFurther && pages < PAGES_MAX
  const isPositioned = position.isPositioned || !isFurther
  const room = position.isPositioned ? found.length : rules.backfill - progress.fresh.length
  return {
    position: { isPositioned, cursor, seen: kept },
    fresh: [...progress.fresh, ...found.slice(0, Math.max(0, room))],
    pages,
    hasNews: progress.hasNews || found.length > 0,
    hasMore,
  }
}

/** An answer that lists an identity twice means the last one. */
function lastOfEach(items: Item[]): Item[] {
  return [...new Map(items.map(item => [item.identity, item])).values()]
}

function split(entry: string): [key: string, digest: string] {
  const [key = '', digest = ''] = entry.split(':')
  return [key, digest]
}

const join = ([key, digest]: [string, string]) => (digest === '' ? key : `${key}:${digest}`)
