/**
 * Reads what the evaluator asked, so that a scripted model can answer about the items: their text
 * by number, and the criterion. It relies on the fences as a model would.
 */
import type { AskedModel } from './model-server.ts'

export interface AskedItem {
  item: number
  text: string
}

/** The items of a call in their order. */
export function askedItems({
  input,
  instructions,
}: Pick<AskedModel, 'input' | 'instructions'>): AskedItem[] {
  const boundary = /"\[([0-9a-f]{16,}) item N\]"/.exec(instructions)?.[1] ?? 'no boundary'
  const fence = new RegExp(
    `\\[${boundary} item (\\d+)\\]\\n([\\s\\S]*?)\\n\\[${boundary} end \\1\\]`,
    'g',
  )
  return [...input.matchAll(fence)].map(([, item = '', text = '']) => ({
    item: Number(item),
    text,
  }))
}

/** The criterion of a call; empty where the instructions name none. */
export function askedCriterion({ instructions }: Pick<AskedModel, 'instructions'>): string {
  return /\nCriterion:\n([\s\S]*?)\n\nIn this call /.exec(instructions)?.[1] ?? ''
}

export interface ScriptedVerdict {
  item: number
  matched: boolean
  confidence: number
  evidence: { quote: string; pointer: string }[]
  reason: string
}

/** A match of an item that quotes the longest line of its text, or a negative verdict. */
export function verdictFor(
  { item, text }: AskedItem,
  matched: boolean,
  more: Partial<ScriptedVerdict> = {},
): ScriptedVerdict {
  const value = /^\/text: ([\s\S]*)$/m.exec(text)?.[1] ?? text
  const lines = value.split('\n').sort((a, b) => b.length - a.length)
  const quote = [...(lines[0] ?? '')].slice(0, 60).join('')
  const evidence = matched ? [{ quote, pointer: '/text' }] : []
  return { item, matched, confidence: 0.9, evidence, reason: 'scripted', ...more }
}
