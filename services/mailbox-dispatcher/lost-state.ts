/** Thrown through a decider when the store holds less than was once acknowledged (I5). */
export class LostState extends Error {
  /** Documents and the version each must at least have. */
  readonly missing: { key: string; version: number }[]
  readonly agent: string
  constructor(missing: { key: string; version: number }[], agent: string) {
    super(`the store lost ${missing.map(({ key }) => key).join(', ')}`)
    this.name = 'LostState'
    this.missing = missing
    this.agent = agent
  }
}
