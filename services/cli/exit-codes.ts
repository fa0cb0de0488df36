/** Exit codes of every command; scripts depend on them. */
export const EXIT = {
  ok: 0,
  /** Refused by the API, or failed. */
  failed: 1,
  /** The command line cannot be read, or a file is not what was expected. */
  usage: 2,
  /** No answer from the address. */
  unreachable: 3,
  notFound: 4,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
