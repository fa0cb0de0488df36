/** Every way in which a turn can end. The list is closed: each one is reached by a test. */
export const STOP_REASONS = [
  /** The model answered; the only end that is `ok`. */
  'final-message',
  'max-iterations',
  /** More calls were asked for than are left; none of that batch ran. */
  'max-tool-calls',
  'wall-time',
  /** The answer was cut off; nothing of it was executed. */
  'truncated-response',
  /** No output, empty text, a refusal, or calls that cannot be told apart. */
  'malformed-output',
  'context-overflow',
  'model-error',
  'request-timeout',
  /** Subscription, grant, stop or age of the policy forbid going on. */
  'policy-denied',
  'budget-exhausted',
  'lease-lost',
  'cancelled',
  /** A person was asked; the answer opens another turn of the session. */
  'asked',
] as const

export type StopReason = (typeof STOP_REASONS)[number]
