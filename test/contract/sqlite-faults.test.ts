/** What the SQLite file promises when the disk is full, a process dies or a second one comes. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createSqliteEventLog } from '#kernel/adapters/sqlite/sqlite-event-log.ts'
import { createSqliteStateStore } from '#kernel/adapters/sqlite/sqlite-state-store.ts'
import { isAmbitError } from '#kernel/errors.ts'
import type { LogRecord, Position } from '#kernel/ports/event-log.ts'
import { textOf } from './event-log-world.ts'
import { dataDirectory, openDatabase, systemClock } from './sqlite-world.ts'

function open(directory: string) {
  const database = openDatabase(directory)
  const log = createSqliteEventLog({ database, clock: systemClock, partitionsOf: () => 4 })
  return { database, log, store: createSqliteStateStore({ database, log }) }
}

const WRITER = fileURLToPath(import.meta.resolve('./sqlite-writer.ts'))

type Opened = ReturnType<typeof open>

async function inDirectory(body: (world: Opened, directory: string) => Promise<void>) {
  const { directory, remove } = dataDirectory()
  const world = open(directory)
  try {
    await body(world, directory)
  } finally {
    await world.log.stop()
    world.database.close()
    remove()
  }
}

const value = (bytes: number) => new Uint8Array(bytes).fill(1)

/** Lets the file grow by no more than `pages`; SQLite then answers as it does on a full disk. */
function limitPages({ database }: Opened, pages: number): void {
  const count = Number(database.statement('pragma page_count').get()?.page_count)
  database.statement(`pragma max_page_count = ${count + pages}`).get()
}

function freeDisk({ database }: Opened): void {
  database.statement('pragma max_page_count = 1073741823').get()
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    error => (isAmbitError(error) ? error.code : String(error)),
  )
}

/**
 * The group that meets the full disk holds small writes of others. All of them must be refused,
 * nothing of them may be seen, and the next writes must go on at the durable offsets.
 */
test('F16 a full disk refuses the whole group, leaves no trace and is survived', () =>
  inDirectory(async world => {
    const { database, log, store } = world
    const small = { topic: 'a', key: 'k', value: value(10) }
    const [first] = await log.append([small])
    await store.commit({ tenant: 't', put: [{ key: 'd', version: 1, body: '1' }] })
    const seen: LogRecord[] = []
    await log.follow({ topics: ['a'], from: 'end', onRecords: list => void seen.push(...list) })
    limitPages(world, 4)
    const put = [{ key: 'd', version: 2, body: '2' }]
    const results = [
      codeOf(log.append([small])),
      codeOf(store.commit({ tenant: 't', expect: { d: 1 }, put, append: [small] })),
      codeOf(store.load({ tenant: 't', documents: ['d'] })),
      codeOf(log.append([{ ...small, value: value(300_000) }])),
    ]
    assert.deepEqual(await Promise.all(results), [
      'log-unavailable',
      'store-unavailable',
      'store-unavailable',
      'log-unavailable',
    ])
    const ends = async () =>
      (await log.endOffsets(['a'])).reduce((sum, { offset }) => sum + offset, 0)
    assert.equal(await ends(), 1)
    const { documents } = await store.load({ tenant: 't', documents: ['d'] })
    assert.deepEqual(documents.get('d'), { version: 1, body: '1' })
    freeDisk(world)
    const [next] = await log.append([small])
    assert.equal(next?.offset, (first?.offset ?? 0) + 1)
    assert.equal((await store.commit({ tenant: 't', expect: { d: 1 }, put })).kind, 'ok')
    assert.deepEqual(
      seen.map(({ offset }) => offset),
      [next?.offset],
    )
    assert.deepEqual(database.check(), [])
  }))

test('F16 a topic whose first records met a full disk can be written later', () =>
  inDirectory(async world => {
    limitPages(world, 0)
    const record = { topic: 'ingress.ext.t1', key: 'k', value: value(100_000) }
    assert.equal(await codeOf(world.log.append([record])), 'log-unavailable')
    freeDisk(world)
    const [position] = await world.log.append([record])
    assert.equal(position?.offset, 0)
  }))

test('an open data directory is refused to a second process with a clear reason', () =>
  inDirectory(async (_, directory) => {
    const { stderr } = await promisify(execFile)(process.execPath, [WRITER, directory]).catch(
      (error: { stderr: string }) => error,
    )
    assert.match(stderr, /AmbitError.*Expected to be the only process on .*another one has it open/)
  }))

test('an open data directory is refused to the same process too, and free after close', () =>
  inDirectory(async (world, directory) => {
    assert.throws(
      () => open(directory),
      error => isAmbitError(error) && error.code === 'store-unavailable',
    )
    await world.log.append([{ topic: 'a', key: 'k', value: null }])
    world.database.close()
    const again = open(directory)
    assert.equal((await again.log.endOffsets(['a'])).filter(p => p.offset === 1).length, 1)
    again.database.close()
  }))

test('after close every call is refused, none hangs', () =>
  inDirectory(async ({ database, log, store }) => {
    const last = log.append([{ topic: 'a', key: 'k', value: null }])
    database.close()
    assert.equal((await last).length, 1)
    assert.equal(
      await codeOf(log.append([{ topic: 'a', key: 'k', value: null }])),
      'log-unavailable',
    )
    assert.equal(await codeOf(store.load({ tenant: 't', documents: ['d'] })), 'store-unavailable')
    assert.equal(await codeOf(store.commit({ tenant: 't' })), 'store-unavailable')
  }))

/** Kills a writer in the middle and answers what it had been told is durable. */
async function killedWriter(directory: string, lines: number) {
  const child = spawn(process.execPath, [WRITER, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const appended: (Position & { text: string })[] = []
  const committed = new Map<string, number>()
  let count = 0
  for await (const line of createInterface({ input: child.stdout })) {
    // A last line that was cut off by the kill has no closing brace.
    if (!line.endsWith('}')) continue
    const said = JSON.parse(line.slice(7))
    if (line.startsWith('append')) appended.push(said)
    else committed.set(said.key, said.round)
    count += 1
    if (count === lines) child.kill('SIGKILL')
  }
  await exited
  return { appended, committed }
}

test('I3 what was acknowledged survives kill -9, and the file stays sound', async () => {
  const { directory, remove } = dataDirectory()
  try {
    for (const lines of [1, 40, 400, 1_500]) {
      const { appended, committed } = await killedWriter(`${directory}/${lines}`, lines)
      assert.ok(appended.length > 0)
      const { database, log, store } = open(`${directory}/${lines}`)
      assert.deepEqual(database.check(), [])
      const found = await log.readAt(appended)
      assert.deepEqual(
        found.map(record => textOf(record?.value ?? null)),
        appended.map(({ text }) => text),
      )
      const { documents } = await store.load({ tenant: 't', documents: [...committed.keys()] })
      for (const [key, round] of committed) {
        const version = documents.get(key)?.version ?? 0
        assert.ok(version === round || version === round + 1, `${key}: ${version}, told ${round}`)
      }
      await assertOneOutputPerVersion({ log, store })
      database.close()
    }
  } finally {
    remove()
  }
})

/** State and outputs are one transaction: a version without its record, or twice, cannot be. */
async function assertOneOutputPerVersion({ log, store }: Pick<Opened, 'log' | 'store'>) {
  const outputs = new Map<string, string[]>()
  const following = await log.follow({
    topics: ['output'],
    from: 'beginning',
    onRecords(list) {
      for (const record of list) {
        const key = textOf(record.key) ?? ''
        outputs.set(key, [...(outputs.get(key) ?? []), textOf(record.value) ?? ''])
      }
    },
  })
  await following.barrier()
  await following.stop()
  const { documents } = await store.load({ tenant: 't', documents: [...outputs.keys()] })
  for (const [key, texts] of outputs) {
    const version = documents.get(key)?.version ?? 0
    const expected = Array.from({ length: version }, (_, at) => `${key}/${at + 1}`)
    assert.deepEqual(texts, expected)
  }
}
