/** What was not run is told by name, because node's totals do not count a skipped suite. */
export interface SkipReport {
  /** The lines to print now for one line of node's spec reporter. */
  onLine: (line: string) => string[]
  /** What is left: the skipped suites and tests, then the reporter's closing lines. */
  atEnd: () => string[]
}

const TOTALS_START = /^ℹ tests \d+$/
const SKIPPED = /^\s*﹣ (.+) \([\d.]+ms\) # (.+)$/

/** Follows one run of the spec reporter, from its first line to its last. */
export function createSkipReport(): SkipReport {
  const skipped: string[] = []
  const closing: string[] = []
  return {
    onLine: line => {
      if (closing.length > 0 || TOTALS_START.test(line)) {
        closing.push(line)
        return []
      }
      const match = SKIPPED.exec(line)
      if (match) skipped.push(match[2] === 'SKIP' ? `${match[1]}` : `${match[1]}: ${match[2]}`)
      return [line]
    },
    atEnd: () => [
      ...(skipped.length > 0 ? [`Skipped suites and tests: ${skipped.length}`] : []),
      ...skipped.map(name => `  ${name}`),
      ...closing,
    ],
  }
}
