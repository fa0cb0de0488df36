/**
 * From an answer to its items. The answer is a stranger's: it is measured before anything recursive
 * sees it, and one that breaks a bound gives no items at all.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { canonicalJson } from '#kernel/domain/canonical-json.ts'
import { EVENT_DATA_BYTES_MAX } from '#kernel/domain/event.ts'
import { atPointer } from '#kernel/domain/json-pointer.ts'
import type { Observe } from '#kernel/domain/trigger.ts'

export interface Item {
  /** What the identity pointer names, as text. */
  identity: string
  /** Of the whole item, over canonical JSON. */
  digest: string
  data: unknown
}

export interface Page {
  items: Item[]
  /** Where the next page begins, as JSON text; `null` where the answer names none. */
  cursor: string | null
}

/** Why an answer is a failed poll. */
export type BadAnswer = 'too-deep' | 'too-many-items' | 'item-too-large' | 'no-list' | 'no-identity'

/** Deepest nesting of an answer. */
const DEPTH_MAX = 64
/** Longest identity that is kept as it is. */
const IDENTITY_MAX = 256

/** The page that an answer holds, or the first rule that it breaks. */
export function readPage(
  answer: unknown,
  observe: Pick<Observe, 'itemsPointer' | 'identityPointer' | 'cursorPointer'>,
  { maxItems }: { maxItems: number },
): Page | BadAnswer {
  if (isTooDeep(answer)) return 'too-deep'
  const list = listOf(atPointer(answer, observe.itemsPointer))
  if (!list) return 'no-list'
  if (list.length > maxItems) return 'too-many-items'
  const items: Item[] = []
  for (const data of list) {
    const identity = identityOf(atPointer(data, observe.identityPointer))
    if (identity === undefined) return 'no-identity'
    const item = itemOf(identity, data)
    if (!item) return 'item-too-large'
    items.push(item)
  }
  const cursor = observe.cursorPointer ? atPointer(answer, observe.cursorPointer) : undefined
  return { items, cursor: isPresent(cursor) ? canonicalJson(cursor) : null }
}

/** An item with its digest; undefined where it is too large for an event. */
export function itemOf(identity: string, data: unknown): Item | undefined {
  const text = canonicalJson(data)
  const bytes = utf8ToBytes(text)
  if (bytes.length > EVENT_DATA_BYTES_MAX) return undefined
  return { identity, digest: shortHash(bytes), data }
}

/** 96 bits of SHA-256 as hex: enough that nobody makes two identities meet. */
export function shortHash(content: string | Uint8Array): string {
  const bytes = typeof content === 'string' ? utf8ToBytes(content) : content
  return bytesToHex(sha256(bytes).subarray(0, 12))
}

/**
 * A list is a list, a text the list of its lines that are not blank, any other object one item.
 * Nothing where a list is expected is an empty list only if it is `null`.
 */
function listOf(found: unknown): unknown[] | undefined {
  if (Array.isArray(found)) return found
  if (found === null) return []
  if (typeof found === 'object') return [found]
  if (typeof found !== 'string') return undefined
  const lines = found.split(/\r?\n/).filter(line => line.trim() !== '')
  return lines.map(text => ({ text }))
}

const isPresent = (value: unknown) => value !== undefined && value !== null && value !== ''

/** Identities go into attributes, where control characters and lone surrogates may not. */
function identityOf(found: unknown): string | undefined {
  if (!isPresent(found)) return undefined
  const text = typeof found === 'string' ? found : canonicalJson(found)
  const isPlain =
    text.length <= IDENTITY_MAX &&
    text.isWellFormed() &&
    !/\p{Cc}|\p{Noncharacter_Code_Point}/u.test(text)
  return isPlain ? text : `sha256:${shortHash(text)}`
}

/** Measured without recursion, because the answer may be deeper than the stack. */
function isTooDeep(root: unknown): boolean {
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) return true
    level = level.flatMap(value =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    )
  }
  return false
}
