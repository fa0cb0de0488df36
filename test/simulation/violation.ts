/** What a check found broken. */
export interface Violation {
  invariant: string
  text: string
  /** Ids by which the trace can be read. */
  ids: string[]
}
