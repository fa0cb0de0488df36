import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { openProjectionDatabase } from '#kernel/adapters/sqlite/projection-database.ts'
import { systemClock } from '#kernel/adapters/system/system-clock.ts'
import { silentLogger } from '#kernel/ports/logger.ts'
import {
  anEvent,
  candidateRecord,
  codec,
  decisionRecord,
  eventRecord,
  messageRecord,
  noticeRecord,
  openHappenedWorld,
  TENANT,
  transitionRecord,
  usageRecord,
} from '#test/support/happened-world.ts'
import { findEvent } from './event-query.ts'
import { listDeadLetters, listNotices, listUsage } from './journal-queries.ts'
import { listMessages } from './mailbox-queries.ts'
import { openReadModel } from './read-model.ts'

const PAGE = { limit: 50 }
const DAY_MS = 24 * 3_600_000

const directory = mkdtempSync(join(tmpdir(), 'ambit-model-'))
after(() => rmSync(directory, { recursive: true, force: true }))

it('goes on where it stood, and equals one that reads everything anew', async () => {
  const world = await openHappenedWorld()
  const path = join(directory, 'model.sqlite')
  const open = () => world.another(openProjectionDatabase(path))
  const first = await open()
  const events = Array.from({ length: 450 }, (_, n) => anEvent(`e${n}`))
  const history = events.flatMap(event => [
    eventRecord(event),
    candidateRecord(event, 's1'),
    decisionRecord(event, 's1'),
    messageRecord(event),
    transitionRecord(event, { state: 'leased', version: 1 }),
    usageRecord(`m-${event.id}`),
  ])
  await world.log.append(history.slice(0, 1000))
  await first.fresh()
  await first.stop()

  await world.log.append(history.slice(1000))
  const second = await open()
  assert.ok(await second.fresh())
  await world.model.fresh()
  const rebuilt = await world.another()
  await rebuilt.fresh()
  const [a, b, c] = await Promise.all([second, world.model, rebuilt].map(model => model.hash()))
  assert.equal(a, b)
  assert.equal(b, c)
  const { items } = listUsage(second, TENANT, { by: 'tenant', page: PAGE })
  assert.equal(items[0]?.calls, 450)
  await world.stop()
})

it('is built anew when the log is another one', async () => {
  const path = join(directory, 'other.sqlite')
  const old = await openHappenedWorld()
  const first = await old.another(openProjectionDatabase(path))
  await old.append(...Array.from({ length: 9 }, (_, n) => eventRecord(anEvent(`old${n}`))))
  await first.fresh()
  await old.stop()
  const fresh = await openHappenedWorld()
  await fresh.append(eventRecord(anEvent('new')))
  const second = await fresh.another(openProjectionDatabase(path))
  await second.fresh()
  assert.ok(findEvent(second, TENANT, anEvent('new')))
  assert.equal(findEvent(second, TENANT, anEvent('old1')), undefined)
  await fresh.stop()
})

it('forgets what is older than its window, but no open message', async () => {
  const world = await openHappenedWorld()
  let ahead = 0
  const clock = { ...systemClock, now: () => Date.now() + ahead }
  const database = openProjectionDatabase(':memory:')
  const options = { log: world.log, codec, database, clock, logger: silentLogger }
  const model = await openReadModel(options)
  const [open, done] = [anEvent('open'), anEvent('done')]
  await world.log.append([
    ...[open, done].flatMap(event => [eventRecord(event), messageRecord(event)]),
    transitionRecord(done, { state: 'done', version: 2 }),
    noticeRecord('n1'),
  ])
  await model.fresh()
  ahead = 8 * DAY_MS
  await world.log.append(Array.from({ length: 600 }, (_, n) => usageRecord(`u${n}`)))
  await model.fresh()
  assert.equal(findEvent(model, TENANT, open), undefined)
  const messages = await listMessages(model, { tenant: TENANT, agent: 'triage' }, PAGE)
  assert.deepEqual(
    messages.items.map(({ id }) => id),
    ['m-open'],
  )
  assert.equal(listNotices(model, TENANT, PAGE).items.length, 1)
  assert.deepEqual(listDeadLetters(model, { tenant: TENANT, isOperator: true }, PAGE).items, [])
  await model.stop()
  await world.stop()
})
