/**
 * Outbound HTTP to addresses that people outside the installation name, so every address is
 * checked before it is called (I16).
 *
 * Contract, checked by `test/contract/http-sender.ts` on every adapter:
 * - H1 only https to globally reachable addresses, except origins that the installation allows.
 * - H2 every answer of DNS is judged at every call, and only a judged address is connected to.
 * - H3 a redirect is an answer like any other and never followed.
 * - H4 a call ends within its time, whatever the receiver does.
 * - H5 all that is read of an answer is its status and bounded headers, and its body only where
 *   the caller asks for one, up to the size it names; a body that breaks off is no answer.
 * - H6 a failure is one of the fixed words, and tells nothing of what was found inside.
 */

/**
 * Why nothing was sent, or no answer came. A name that cannot be resolved and one that leads
 * inside are the same word, so that nobody learns names of an inner network by trying them.
 */
export type SendFailureWord =
  | 'not-a-url'
  | 'not-https'
  | 'credentials-in-url'
  | 'address-refused'
  | 'timeout'
  | 'connection-failed'
  | 'answer-refused'
  | 'answer-too-large'

/** What a sender rejects with; the message is the word and nothing else. */
export class SendFailure extends Error {
  readonly word: SendFailureWord
  constructor(word: SendFailureWord) {
    super(word)
    this.name = 'SendFailure'
    this.word = word
  }
}

export interface SendRequest {
  url: string
  method: string
  headers: Record<string, string>
  body: Uint8Array
  /** For everything together: look-up, connection, answer. */
  timeoutMs: number
  /** Asks for the body, of at most so many bytes as they come. Default: the body is discarded. */
  answerBytesMax?: number
}

/** Header names are lower case; `body` is set where it was asked for, still encoded. */
export interface SendAnswer {
  status: number
  headers: Record<string, string>
  body?: Uint8Array
}

export interface HttpSender {
  /**
   * Sends one request and resolves with whatever status came, redirects and failures too.
   * Rejects with `SendFailure`.
   */
  send(request: SendRequest): Promise<SendAnswer>
  /**
   * Resolves when a call of the address would be allowed now; connects to nobody. Rejects with
   * `SendFailure`. What it allows may be refused later: `send` asks again.
   */
  check(url: string): Promise<void>
}
