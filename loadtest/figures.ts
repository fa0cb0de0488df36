/** Figures of a bench, as it prints and writes them. */
import { writeFileSync } from 'node:fs'

export interface Figure {
  name: string
  ours: number
  /** Of the peer or floor, where there is one. */
  theirs: number | null
  /** Ours over theirs, where both exist. */
  ratio: number | null
}

/** Makes a figure and prints its line: name, ours, theirs, ratio. */
export function figure(name: string, ours: number, theirs: number | null): Figure {
  const made = { name, ours, theirs, ratio: theirs === null ? null : ours / theirs }
  const shown = [made.ours, made.theirs, made.ratio].map(value =>
    value === null ? '-' : String(Number(value.toPrecision(4))),
  )
  process.stdout.write(`${[name, ...shown].join('  ')}\n`)
  return made
}

/** Writes the figures of a bench as JSON, where a file was named. */
export function writeFigures(
  bench: string,
  figures: readonly Figure[],
  file: string | undefined,
): void {
  if (file) writeFileSync(file, `${JSON.stringify({ bench, figures }, null, 2)}\n`)
}
