/** One condition on the text at one place of an event: what a bucket of the index can hold. */
export interface TextTerm {
  readonly kind: 'exact' | 'prefix' | 'suffix'
  readonly path: string
  readonly value: string
}
