/**
 * Where a candidate of a grouping subscription would wait. Alertmanager's meaning: `waitMs` for
 * the first of a key, `intervalMs` after a flush; nothing is dropped, every event is listed.
 */
import { type CloudEvent, formatLineage } from '#kernel/domain/event.ts'
import { parsePath, readPath } from '#kernel/domain/filter/attribute-path.ts'
import { hashId } from '#kernel/domain/ids.ts'
import { scalarText } from '#kernel/domain/json-scalar.ts'
import type { Group, Limits } from '#kernel/domain/limits.ts'
import { stringifyLossless } from '#kernel/domain/lossless-json.ts'
import type { GroupDocument, Opening } from './guard-state.ts'

export interface GroupPlacement {
  key: string
  hash: string
  rule: Group
  document: GroupDocument
  /** The opening that would take the candidate, if one is open. */
  joining: Opening | undefined
}

/** Longest text of one value inside a group key; longer ones are hashed. */
const VALUE_LENGTH_MAX = 128

/** The one group of subscriptions that group by nothing. */
const WHOLE = '*'

/**
 * The grouping rule in force. A cooldown that groups needs no `group`: everything inside the
 * cooldown is then one group.
 */
export function groupRule(limits: Limits): Group | undefined {
  if (limits.group) return limits.group
  const { cooldownRule, cooldownMs, rate } = limits
  if (cooldownRule !== 'group' || (!cooldownMs && !rate)) return undefined
  return { by: [], waitMs: 0, intervalMs: cooldownMs ?? 0, max: 50 }
}

/** Does naming the group need the event's body? */
export function needsData(rule: Group): boolean {
  return rule.by.some(path => path === 'data' || path.startsWith('data.'))
}

/** `subject=o-1&data.lang=es`: values percent-encoded, `path` alone where there is none. */
export function groupKeyOf(rule: Group, event: CloudEvent): string {
  if (rule.by.length === 0) return WHOLE
  return rule.by.map(path => `${path}${valueText(event, path)}`).join('&')
}

function valueText(event: CloudEvent, path: string): string {
  const value = readPath(event, parsePath(path) ?? [path])
  if (value === undefined) return ''
  const text = scalarText(value) ?? stringifyLossless(value)
  return `=${encodeURIComponent(text.length > VALUE_LENGTH_MAX ? hashId('v', text) : text)}`
}

/** Short name of a group key for document keys. */
export function groupHash(key: string): string {
  return key === WHOLE ? 'all' : hashId('g', key)
}

/** Places a candidate in the group document of its key. */
export function placeInGroup(
  rule: Group,
  key: string,
  document: GroupDocument | undefined,
): GroupPlacement {
  const found = document ?? { key, lastFlushAt: 0, openings: [] }
  const newest = found.openings.at(-1)
  const joining = newest && !newest.isFull ? newest : undefined
  return { key, hash: groupHash(key), rule, document: found, joining }
}

/** When a new opening's own timer ends: at once where neither wait nor interval runs. */
export function timerOf({ rule, document }: GroupPlacement, now: number): number {
  if (rule.max === 1 && document.openings.length === 0) return now
  const flushed = Math.max(document.lastFlushAt, document.openings.at(-1)?.flushAt ?? 0)
  const interval = flushed > 0 ? flushed + rule.intervalMs : 0
  const pending = document.openings.length > 0
  return interval > now || pending ? Math.max(interval, now) : now + rule.waitMs
}

/** The union of lineages, each hop once, in order of first appearance (I10). */
export function unionOfHops<T extends Parameters<typeof formatLineage>[0][number]>(
  lineages: readonly (readonly T[])[],
): T[] {
  const union = new Map<string, T>()
  for (const hop of lineages.flat()) union.set(formatLineage([hop]), hop)
  return [...union.values()]
}
