/**
 * Tests text against a glob whose only wildcard is `*`, any run of characters, also none.
 * Everything else is literal and case counts. Each literal part is searched once, left to right,
 * so a hostile glob costs no more than the length of the text per part: nothing backtracks.
 */
export function globMatches(glob: string, text: string): boolean {
  const first = glob.indexOf('*')
  if (first < 0) return glob === text
  const last = glob.lastIndexOf('*')
  const tail = glob.length - last - 1
  if (text.length < first + tail) return false
  if (!text.startsWith(glob.slice(0, first)) || !text.endsWith(glob.slice(last + 1))) return false
  if (first === last) return true
  return middleMatches(glob.slice(first + 1, last).split('*'), text.slice(first), tail)
}

function middleMatches(parts: readonly string[], text: string, tail: number): boolean {
  let at = 0
  for (const part of parts) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= text.length - tail
}

/** The literal start that every matching text has: up to the first `*`, else the whole glob. */
export function globPrefix(glob: string): string {
  const star = glob.indexOf('*')
  return star < 0 ? glob : glob.slice(0, star)
}

/** True when the glob is only wildcards, so that it names nothing. */
export function isBareGlob(glob: string): boolean {
  return glob !== '' && glob.replaceAll('*', '') === ''
}
