/**
 * What a judge is given of an event: its text leaf by leaf, each with the JSON Pointer that
 * evidence names. Everything here is untrusted data.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import type { CloudEvent } from '#kernel/domain/event.ts'
import { pointerToken } from '#kernel/domain/json-pointer.ts'
import { isJsonObject, scalarText } from '#kernel/domain/json-scalar.ts'

/** One value of the event; `pointer` leads into `data`, and is empty for an attribute. */
export interface Leaf {
  pointer: string
  text: string
}

export interface JudgeItem {
  leaves: Leaf[]
  /** As the model reads it: one value per paragraph, each with its name. */
  text: string
  /** The text was longer than a judge reads; the rest was left out. */
  isCut: boolean
  /** Over everything but id and time, so that the same text is the same item. */
  digest: string
}

/** Attributes that say what an event is about; ids and times are left out. */
const ATTRIBUTES = ['type', 'source', 'subject'] as const

/** Characters of one item that a judge reads; more is cut. */
export const ITEM_CHARS_MAX = 16_000

/** The item of an event. Keys are in one order, so that equal data gives equal items. */
export function judgeItemOf(event: CloudEvent, charsMax: number = ITEM_CHARS_MAX): JudgeItem {
  const attributes = ATTRIBUTES.flatMap(name => {
    const text = event[name]
    return typeof text === 'string' ? [{ name, pointer: '', text }] : []
  })
  const data = leavesOf(event.data, '').map(leaf => ({ ...leaf, name: leaf.pointer }))
  const named = [...attributes, ...data]
  const whole = named.map(({ name, text }) => `${name === '' ? 'data' : name}: ${text}`).join('\n')
  const identity = [named.map(({ name, text }) => [name, text]), event.data_base64 ?? null]
  const isCut = whole.length > charsMax
  return {
    leaves: named.map(({ pointer, text }) => ({ pointer, text })),
    text: isCut ? `${whole.slice(0, charsMax).toWellFormed()}\n(the rest was left out)` : whole,
    isCut,
    digest: bytesToHex(sha256(utf8ToBytes(JSON.stringify(identity)))),
  }
}

function leavesOf(value: unknown, pointer: string): Leaf[] {
  if (Array.isArray(value) && value.length > 0) {
    return value.flatMap((each, at) => leavesOf(each, `${pointer}/${at}`))
  }
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    return Object.keys(value)
      .sort()
      .flatMap(key => leavesOf(value[key], `${pointer}/${pointerToken(key)}`))
  }
  if (value === undefined) return []
  return [{ pointer, text: scalarText(value) ?? JSON.stringify(value) }]
}
