/** A command line or a file that cannot be used: what was expected, what came, what to do. */
export class UsageError extends Error {
  readonly expected: string | undefined
  readonly came: string | undefined
  readonly todo: string | undefined

  constructor(message: string, facts: { expected?: string; came?: string; todo?: string } = {}) {
    super(message)
    this.name = 'UsageError'
    this.expected = facts.expected
    this.came = facts.came
    this.todo = facts.todo
  }
}
