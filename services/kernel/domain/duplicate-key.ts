import { pointerToken } from './json-pointer.ts'

interface Level {
  /** Keys seen so far; null for an array. */
  keys: Set<string> | null
  /** Key or index of the value that is being read. */
  at: string | number
}

/** Strings and structural characters; numbers and words are passed over. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g

/**
 * JSON Pointer (RFC 6901) of the first key that its object already has. Only for text that
 * `JSON.parse` accepts; undefined when there is none. Slow path: it runs only to word an error.
 */
export function findDuplicateKey(text: string): string | undefined {
  const levels: Level[] = []
  let previous = ''
  for (const [token] of text.matchAll(TOKEN)) {
    const level = levels.at(-1)
    if (token === '{') levels.push({ keys: new Set(), at: '' })
    else if (token === '[') levels.push({ keys: null, at: 0 })
    else if (token === '}' || token === ']') levels.pop()
    else if (token === ',' && typeof level?.at === 'number') level.at += 1
    else if (token === ':' && level?.keys) {
      const key = String(JSON.parse(previous))
      level.at = key
      if (level.keys.has(key)) return levels.map(each => `/${pointerToken(each.at)}`).join('')
      level.keys.add(key)
    }
    previous = token
  }
  return undefined
}
