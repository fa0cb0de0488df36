import type { CelProgram } from './cel.ts'
import type { CelCompiler } from './filter/evaluate-filter.ts'

/**
 * Keeps the `programsMax` programs that were used last. A compiled program is some ten kilobytes
 * and its text a few dozen bytes, so a caller that asks again each time may hold many expressions
 * while few are compiled.
 */
export function createCelCache(compile: CelCompiler, programsMax: number): CelCompiler {
  const programs = new Map<string, CelProgram>()
  return expression => {
    const known = programs.get(expression)
    if (known !== undefined) {
      // Deleting and setting again keeps the map in order of use.
      programs.delete(expression)
      programs.set(expression, known)
      return known
    }
    const program = compile(expression)
    programs.set(expression, program)
    for (const oldest of programs.keys()) {
      if (programs.size <= programsMax) break
      programs.delete(oldest)
    }
    return program
  }
}

/** A program that is compiled, or found, each time it is used, and holds nothing but its text. */
export function lazyProgram(compile: CelCompiler, expression: string): CelProgram {
  return {
    evaluate: variables => compile(expression).evaluate(variables),
    outcome: variables => compile(expression).outcome(variables),
    references: () => compile(expression).references(),
  }
}
