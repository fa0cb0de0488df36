/** A column: its title and the members of a row it shows, by dotted path. */
export type Column = readonly [title: string, path: string]

/** Longest cell; the whole value is in `describe` and `--json`. */
const CELL_CHARACTERS_MAX = 72
const GAP = '  '

/** Aligned columns with a header line, for people. */
export function formatTable(columns: readonly Column[], rows: readonly object[]): string {
  const cells = rows.map(row => columns.map(([, path]) => cellOf(memberAt(row, path))))
  const titles = columns.map(([title]) => title)
  const widths = titles.map((title, at) =>
    Math.max(title.length, ...cells.map(row => row[at]?.length ?? 0)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join(GAP)
      .trimEnd()
  return `${[titles, ...cells].map(line).join('\n')}\n`
}

/** The value at a dotted path; undefined where there is none. */
export function memberAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, name) => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return undefined
    return (inner as Record<string, unknown>)[name]
  }, value)
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const line = withoutFraction(text).replace(/\s+/g, ' ')
  return line.length <= CELL_CHARACTERS_MAX ? line : `${line.slice(0, CELL_CHARACTERS_MAX - 1)}…`
}

/** Milliseconds of an instant matter in a trace, not in a list. */
function withoutFraction(text: string): string {
  return text.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d+Z$/, '$1Z')
}
