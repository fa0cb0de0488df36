/** How a judged seed is handed back, the same in every world. */
import type { History } from './history.ts'
import type { SeedResult } from './sim-world.ts'
import { firstOfEach, type Violation } from './violation.ts'

const TRACE_LINES = Number(process.env.SIM_TRACE ?? 80)

/** The first violations of each invariant, and the trace about the very first of all. */
export function judged(
  { history }: { history: History },
  seed: number,
  found: readonly Violation[],
  coverage: string[],
): SeedResult {
  const violations = firstOfEach(found)
  const [first] = violations
  const trace = first ? history.lines(first.ids, TRACE_LINES) : []
  return { seed, hash: history.hash(), violations, trace, coverage }
}
