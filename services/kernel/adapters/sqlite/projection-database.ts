/** Derived data in a SQLite file of its own, tuned for being cheap to write and safe to lose. */
import { mkdirSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { ProjectionDatabase, SqlValue } from '#kernel/ports/projection-database.ts'

/** WAL and no fsync: a killed process loses nothing, a power loss may cost the file (P2). */
const SETTINGS = `
pragma page_size = 8192;
pragma journal_mode = wal;
pragma synchronous = off;
pragma wal_autocheckpoint = 2000;
pragma cache_size = -65536;
pragma temp_store = memory;
`

/** Header field that SQLite leaves to applications: whether the file was closed in order. */
const CLOSED = 0x416d6201
const IN_USE = 0x416d6202

/** Statements beyond these are made for every call. */
const STATEMENTS_MAX = 300

/**
 * Opens the database at `path`, or one in memory for `:memory:`. A file that is no sound database
 * is deleted first. Only one process may have it open.
 */
export function openProjectionDatabase(path: string): ProjectionDatabase {
  let connection = openSound(path)
  const statements = new Map<string, StatementSync>()

  function statement(sql: string): StatementSync {
    let found = statements.get(sql)
    if (!found) {
      found = connection.prepare(sql)
      if (statements.size < STATEMENTS_MAX) statements.set(sql, found)
    }
    return found
  }

  function transaction<T>(work: () => T): T {
    connection.exec('begin immediate')
    try {
      const result = work()
      connection.exec('commit')
      return result
    } catch (error) {
      // A full disk or a damaged page may have ended the transaction already.
      if (connection.isTransaction) connection.exec('rollback')
      throw error
    }
  }

  return {
    run: (sql, ...values: SqlValue[]) => Number(statement(sql).run(...values).changes),
    get: <T>(sql: string, ...values: SqlValue[]) => statement(sql).get(...values) as T | undefined,
    all: <T>(sql: string, ...values: SqlValue[]) => statement(sql).all(...values) as T[],
    transaction,
    reset() {
      statements.clear()
      connection.close()
      remove(path)
      connection = open(path)
    },
    close() {
      statements.clear()
      connection.exec(`pragma application_id = ${CLOSED}`)
      connection.close()
    },
  }
}

function openSound(path: string): DatabaseSync {
  try {
    return open(path)
  } catch (error) {
    if (!isDamage(error)) throw error
    remove(path)
    return open(path)
  }
}

/** `SQLITE_CORRUPT` and `SQLITE_NOTADB`; a locked or unwritable file is nobody's to delete. */
const DAMAGE_CODES = [11, 26]

function isDamage(error: unknown): boolean {
  if (error instanceof DamagedFile) return true
  return (
    error instanceof Error && 'errcode' in error && DAMAGE_CODES.includes(Number(error.errcode))
  )
}

class DamagedFile extends Error {}

function open(path: string): DatabaseSync {
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
  const connection = new DatabaseSync(path, { timeout: 500 })
  try {
    connection.exec(SETTINGS)
    const mark = connection.prepare('pragma application_id').get()?.application_id
    if (mark === IN_USE) checkSound(connection)
    connection.exec(`pragma application_id = ${IN_USE}`)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Reads the whole file, so only where the last user did not say goodbye. */
function checkSound(connection: DatabaseSync): void {
  const found = connection.prepare('pragma quick_check(1)').get()?.quick_check
  if (found !== 'ok') throw new DamagedFile('the projection is damaged')
}

function remove(path: string): void {
  if (path === ':memory:') return
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
}
