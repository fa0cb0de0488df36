/** Data directories and files for the contract tests of the SQLite adapters. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DATABASE_FILE, openSqliteDatabase } from '#kernel/adapters/sqlite/sqlite-database.ts'
import type { Clock } from '#kernel/ports/clock.ts'

/** Real time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
}

/** A new empty directory; `remove` deletes it. */
export function dataDirectory(): { directory: string; remove: () => void } {
  const directory = mkdtempSync(join(tmpdir(), 'ambit-sqlite-'))
  return { directory, remove: () => rmSync(directory, { recursive: true, force: true }) }
}

/** Opens the file of a directory on real time. */
export function openDatabase(directory: string) {
  return openSqliteDatabase({ directory, clock: systemClock, lockMs: 0 })
}

/**
 * What `kill -9` would leave at this moment: the file and its write-ahead log as the operating
 * system has them, without what the open transaction still holds in memory.
 */
export function copyAsKilled(directory: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const name of [DATABASE_FILE, `${DATABASE_FILE}-wal`]) {
    if (existsSync(join(directory, name))) copyFileSync(join(directory, name), join(to, name))
  }
}
