/**
 * The one file of the embedded host: log and store side by side, so that one transaction can hold
 * both. It owns the connection, the lock, the time and the group commit; what the tables mean
 * belongs to the adapters beside it.
 */
import { mkdirSync } from 'node:fs'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { AmbitError } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import {
  closed,
  createGroupCommit,
  type GroupCommit,
  isSqliteError,
  type UnavailableCode,
  unavailable,
} from './group-commit.ts'
import { migrate } from './sqlite-schema.ts'
import { createSqliteTime } from './sqlite-time.ts'

/** Name of the file inside the data directory. */
export const DATABASE_FILE = 'ambit.sqlite'

export interface SqliteDatabaseOptions {
  /** Created when missing. */
  directory: string
  /** Read once, when the file is opened. */
  clock: Pick<Clock, 'now'>
  /** How long to wait for another process to let go of the file. Default 500 ms. */
  lockMs?: number
  /** Default `performance.now`; replaced by tests. */
  monotonicMs?(): number
}

export interface SqliteDatabase extends Omit<GroupCommit, 'close'> {
  /** The path of the file. */
  readonly path: string
  /** A prepared statement, made once per text. */
  statement(sql: string): StatementSync
  /** Runs a read; rejects SQLite's errors under the port's code. */
  read<T>(code: UnavailableCode, work: () => T): T
  /** The store's time, ms since the epoch; it never goes back, over restarts either. */
  now(): number
  /** Problems that `quick_check` finds; empty when the file is sound. Blocks while it reads. */
  check(): string[]
  /** Makes everything written durable and lets go of the file. Later calls are refused. */
  close(): void
}

/** The stored time lags behind the handed out one by at most this, as long as there are writes. */
const TIME_EVERY_MS = 250

/**
 * Pages: 8 KiB measured best for rows of some hundred bytes. The WAL restarts after about 32 MiB: a
 * page that is written again and again is then copied back once, a tenth of the CPU of an event.
 */
const SETTINGS = `
pragma page_size = 8192;
pragma locking_mode = exclusive;
pragma journal_mode = wal;
pragma synchronous = full;
pragma wal_autocheckpoint = 4000;
pragma cache_size = -65536;
pragma temp_store = memory;
`

/**
 * Opens `DIRECTORY/ambit.sqlite` and keeps it to this process until `close`. Throws
 * `store-unavailable` when another process has it, or when it cannot be read or written.
 */
export function openSqliteDatabase(options: SqliteDatabaseOptions): SqliteDatabase {
  const path = join(options.directory, DATABASE_FILE)
  const connection = connect(path, options)
  const statements = new Map<string, StatementSync>()
  const group = createGroupCommit(connection)
  let isClosed = false

  function statement(sql: string): StatementSync {
    let found = statements.get(sql)
    if (!found) {
      found = connection.prepare(sql)
      statements.set(sql, found)
    }
    return found
  }

  function read<T>(code: UnavailableCode, work: () => T): T {
    if (isClosed) throw closed(code)
    try {
      return work()
    } catch (error) {
      throw isSqliteError(error) ? unavailable(code, error) : error
    }
  }

  const now = openTime(connection, options)
  group.join(keepTime(statement, now))
  return {
    path,
    statement,
    read,
    now,
    write: group.write,
    settled: group.settled,
    join: group.join,
    check: () =>
      statement('pragma quick_check')
        .all()
        .map(row => String(row.quick_check))
        .filter(line => line !== 'ok'),
    close() {
      if (isClosed) return
      group.close()
      isClosed = true
      connection.close()
    },
  }
}

function connect(path: string, { directory, lockMs = 500 }: SqliteDatabaseOptions): DatabaseSync {
  let connection: DatabaseSync | undefined
  try {
    mkdirSync(directory, { recursive: true })
    connection = new DatabaseSync(path, { timeout: lockMs })
    connection.exec(SETTINGS)
    // With exclusive locking the first write takes the lock, and only closing gives it back.
    connection.exec('begin immediate; commit')
    migrate(connection)
    return connection
  } catch (error) {
    connection?.close()
    throw openError(path, error)
  }
}

function openError(path: string, cause: unknown): unknown {
  if (!(cause instanceof Error) || cause instanceof AmbitError) return cause
  if (isSqliteError(cause) && /locked|busy/i.test(cause.message)) {
    return new AmbitError(
      'store-unavailable',
      `Expected to be the only process on ${path}, but another one has it open. ` +
        'Stop that one, or start with another data directory.',
      { cause },
    )
  }
  return new AmbitError(
    'store-unavailable',
    `Expected to open ${path} for reading and writing, but got "${cause.message}". ` +
      'Check the path, its permissions and the disk.',
    { cause },
  )
}

function openTime(connection: DatabaseSync, options: SqliteDatabaseOptions): () => number {
  const stored = connection.prepare('select now from clock').get()?.now
  return createSqliteTime({
    wallMs: options.clock.now(),
    floorMs: typeof stored === 'number' ? stored : 0,
    monotonicMs: options.monotonicMs ?? (() => performance.now()),
    uptimeMs: () => uptime() * 1_000,
  })
}

/** Stores the time with the writes that were decided by it, so that a restart starts no lower. */
function keepTime(statement: (sql: string) => StatementSync, now: () => number) {
  let storedMs = 0
  return {
    beforeCommit() {
      const nowMs = now()
      if (nowMs - storedMs < TIME_EVERY_MS) return
      statement('insert or replace into clock(id, now) values (1, ?)').run(nowMs)
      storedMs = nowMs
    },
    rolledBack() {
      storedMs = 0
    },
  }
}
