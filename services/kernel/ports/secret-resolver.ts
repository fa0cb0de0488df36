/** Turns a secret reference into its value, or seals an inline one for storage. */
export interface SecretResolver {
  /**
   * `env:NAME`, `file:PATH` or a sealed text. Resolves `undefined` when the reference points at
   * nothing; never logs.
   */
  resolve(reference: string): Promise<string | undefined>
  /** AES-256-GCM under the configured key; references pass unchanged. */
  seal(secret: string): string
}
