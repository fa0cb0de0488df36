import type { CelCompiler } from './filter/evaluate-filter.ts'

/**
 * A compiler that does nothing until an expression is evaluated, and keeps the `programsMax`
 * programs that were used last. A compiled program is some ten kilobytes, its text a few dozen
 * bytes, so that many expressions may be held while few are compiled.
 */
export function createCelCache(compile: CelCompiler, programsMax: number): CelCompiler {
  const programs = new Map<string, ReturnType<CelCompiler>>()
  const programOf: CelCompiler = expression => {
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
  return expression => ({
    evaluate: variables => programOf(expression).evaluate(variables),
    outcome: variables => programOf(expression).outcome(variables),
    references: () => programOf(expression).references(),
  })
}
