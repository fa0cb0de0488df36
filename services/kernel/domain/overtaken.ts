/**
 * Compaction keeps the last record of a key, and readers of a table the highest version. Where a
 * late append of an older version came last, the next compaction would lose the newest one: who
 * folds the topic has it appended again (F28).
 */
import type { Output } from './unit-of-work.ts'

/** What a rebuild gives back, as far as it is appended. */
interface Restored {
  outputs: Output[]
}

const tables = new WeakMap<Restored, Map<string, { version: number; output: Output }>>()

/**
 * Tells whether no newer version of the record's key was folded before it. Of a key whose last
 * record is not its newest, the newest is among the outputs that the rebuild appends.
 */
export function isNewestOf(restored: Restored, output: Output, version: number): boolean {
  const table = tables.get(restored) ?? new Map<string, { version: number; output: Output }>()
  tables.set(restored, table)
  const id = `${output.topic}\n${output.key}`
  const known = table.get(id)
  if (known && known.version > version) {
    if (!restored.outputs.includes(known.output)) restored.outputs.push(known.output)
    return false
  }
  if (known && restored.outputs.length > 0) {
    restored.outputs = restored.outputs.filter(each => each !== known.output)
  }
  table.set(id, { version, output })
  return true
}
