/** The part of pino that the product uses; payloads and secrets never go in. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Drops everything: for simulations and tests that read results, not logs. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
