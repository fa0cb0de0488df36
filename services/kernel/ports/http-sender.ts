/** Outbound HTTP with address checks (page "Security rules": outgoing addresses). */
export interface HttpSender {
  /**
   * Sends one request; redirects are never followed. Rejects with a fixed word as message when
   * the address may not be called or the time is over.
   */
  send(request: {
    url: string
    method: string
    headers: Record<string, string>
    body: Uint8Array
    timeoutMs: number
  }): Promise<{ status: number; headers: Record<string, string> }>
}
