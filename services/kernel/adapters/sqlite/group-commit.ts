/**
 * Group commit: writes run at once inside one open transaction, and their promises resolve after
 * the COMMIT that makes them durable, shared with every other write of that moment (I3).
 *
 * - A1 a promise resolves only after the COMMIT that holds its write was flushed.
 * - A2 when anything in a group fails, the whole group is rolled back, every promise of it
 *   rejects, and every participant returns to what is durable.
 */
import type { DatabaseSync } from 'node:sqlite'
import { AmbitError, isAmbitError } from '#kernel/errors.ts'

/** Which port a failed write belongs to. */
export type UnavailableCode = 'log-unavailable' | 'store-unavailable'

/** Keeps state in memory beside the tables. */
export interface Participant {
  /** Writes what it collected, inside the transaction. May throw. */
  beforeCommit?(): void
  /** The group is durable. */
  committed?(): void
  /** The group never happened. */
  rolledBack?(): void
}

export interface GroupCommit {
  /**
   * Runs `work` now and resolves with its result once durable. `work` may only throw when its
   * writes must not stay; it takes the writes of its neighbours with it, so check input before.
   */
  write<T>(code: UnavailableCode, bytes: number, work: () => T): Promise<T>
  /** Resolves when everything written so far is durable; rejects when it was rolled back. */
  settled(code: UnavailableCode): Promise<void>
  join(participant: Participant): void
  /** Commits what is open and refuses every later write. */
  close(): void
}

interface Waiting {
  code: UnavailableCode
  resolve(): void
  reject(error: unknown): void
}

/** A group is committed without waiting for the end of the turn when it has this much. */
const WRITES_MAX = 1_000
const BYTES_MAX = 2 * 1024 * 1024

/** Group commit over one connection that nobody else begins transactions on. */
export function createGroupCommit(connection: DatabaseSync): GroupCommit {
  const participants: Participant[] = []
  let waiting: Waiting[] = []
  let bytes = 0
  let isOpen = false
  let isClosed = false
  const soon = onceAtEndOfTurn(commit)

  function begin(): void {
    connection.exec('begin immediate')
    isOpen = true
  }

  function take(): Waiting[] {
    const taken = waiting
    waiting = []
    bytes = 0
    isOpen = false
    return taken
  }

  function rollBack(cause: unknown): void {
    const taken = take()
    try {
      // SQLite has already rolled back after a full disk or an I/O error.
      if (connection.isTransaction) connection.exec('rollback')
    } catch {
      isClosed = true
    }
    for (const each of participants) each.rolledBack?.()
    for (const { code, reject } of taken) reject(unavailable(code, cause))
  }

  function commit(): void {
    if (!isOpen) return
    try {
      for (const each of participants) each.beforeCommit?.()
      connection.exec('commit')
    } catch (error) {
      rollBack(error)
      return
    }
    const taken = take()
    for (const each of participants) each.committed?.()
    for (const { resolve } of taken) resolve()
  }

  function write<T>(code: UnavailableCode, size: number, work: () => T): Promise<T> {
    if (isClosed) return Promise.reject(closed(code))
    let value: T
    try {
      if (!isOpen) begin()
      value = work()
    } catch (error) {
      rollBack(error)
      return Promise.reject(isSqliteError(error) ? unavailable(code, error) : error)
    }
    bytes += size
    return new Promise<T>((resolve, reject) => {
      waiting.push({ code, resolve: () => resolve(value), reject })
      if (waiting.length >= WRITES_MAX || bytes >= BYTES_MAX) commit()
      else soon()
    })
  }

  function settled(code: UnavailableCode): Promise<void> {
    if (!isOpen) return Promise.resolve()
    return new Promise((resolve, reject) => waiting.push({ code, resolve, reject }))
  }

  function close(): void {
    isClosed = true
    commit()
  }

  return {
    write,
    settled,
    join: participant => participants.push(participant),
    close,
  }
}

/**
 * Calls once after the callbacks of this turn. Writes that arrive while the disk is busy wait in
 * the sockets and share the next commit, so lingering on purpose gained nothing when measured.
 */
function onceAtEndOfTurn(work: () => void): () => void {
  let isScheduled = false
  return () => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      work()
    })
  }
}

/** The rejection of an operation on a file that was closed. */
export function closed(code: UnavailableCode): AmbitError {
  return new AmbitError(code, 'Expected an open data file, but it was closed. Start again.')
}

/** The rejection of an operation that SQLite could not finish. */
export function unavailable(code: UnavailableCode, cause: unknown): AmbitError {
  if (isAmbitError(cause) && cause.code === code) return cause
  const why = cause instanceof Error ? cause.message : 'unknown'
  return new AmbitError(
    code,
    `Expected the data file to take the write, but SQLite answered "${why}". ` +
      'Nothing of it was stored; check the disk and retry.',
    { cause },
  )
}

/** True for what `node:sqlite` throws on behalf of the library. */
export function isSqliteError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
}
