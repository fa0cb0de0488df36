/**
 * A private SQL database of derived data: everything in it can be read again from the log, so
 * losing it costs time and nothing else. One process, one writer, synchronous calls.
 *
 * - P1 Everything written inside `transaction` is seen together or not at all, also after a kill
 *   of the process.
 * - P2 After a power loss the data may be older or gone, but never silently damaged: a damaged
 *   file is noticed when it is opened and replaced by an empty one.
 */

/** What a column holds. Integers beyond 2^53 are read as text (`cast(… as text)`). */
export type SqlValue = string | number | bigint | null | Uint8Array

export interface ProjectionDatabase {
  /** Runs a statement, prepared once per text; answers the number of changed rows. */
  run(sql: string, ...values: SqlValue[]): number
  /** The first row. The caller names the shape that its own SQL gives. */
  get<T>(sql: string, ...values: SqlValue[]): T | undefined
  /** All rows. */
  all<T>(sql: string, ...values: SqlValue[]): T[]
  /** Runs the work in one transaction; rolls back and throws what it throws. */
  transaction<T>(work: () => T): T
  /** Leaves an empty database without tables. */
  reset(): void
  close(): void
}
