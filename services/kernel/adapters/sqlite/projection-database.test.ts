import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { openProjectionDatabase } from './projection-database.ts'

describe('a projection database', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ambit-projection-'))
  after(() => rmSync(directory, { recursive: true }))

  it('writes a transaction together or not at all', () => {
    const database = openProjectionDatabase(':memory:')
    database.run('create table t(a integer)')
    assert.throws(() =>
      database.transaction(() => {
        database.run('insert into t values (1)')
        throw new Error('halfway')
      }),
    )
    assert.deepEqual(database.all('select a from t'), [])
    assert.equal(
      database.transaction(() => database.run('insert into t values (1), (2)')),
      2,
    )
    database.close()
  })

  it('keeps what was written over a restart, and forgets it on reset', () => {
    const path = join(directory, 'kept', 'model.sqlite')
    const first = openProjectionDatabase(path)
    first.run('create table t(a integer)')
    first.run('insert into t values (?)', 7)
    first.close()
    const second = openProjectionDatabase(path)
    assert.equal(second.get<{ a: number }>('select a from t')?.a, 7)
    second.reset()
    assert.deepEqual(second.all('select name from sqlite_schema'), [])
    second.close()
  })

  it('replaces a file that is no database', () => {
    const path = join(directory, 'damaged.sqlite')
    writeFileSync(path, 'this is not a database, and long enough to be read as a header'.repeat(99))
    const database = openProjectionDatabase(path)
    database.run('create table t(a integer)')
    database.close()
  })
})
