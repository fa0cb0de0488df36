/** L2 and L4 for several members of one group: sharing, take-over, loss. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LogRecord, RecordBatch } from '#kernel/ports/event-log.ts'
import {
  type EventLogWorld,
  gate,
  inWorld,
  type MakeWorld,
  type Member,
  records,
  startMember,
  texts,
  until,
} from './event-log-world.ts'

/** Tests of two members in one group. */
export function membershipContract(makeWorld: MakeWorld): void {
  describe('membership', () => {
    sharingTests(makeWorld)
    lossTests(makeWorld)
  })
}

/** The second member runs in another instance where the adapter has one. */
async function rivalLog(world: EventLogWorld) {
  return world.another ? world.another() : world.log
}

/** Distinct positions; a hand-over may repeat what was not committed. */
function distinct(...members: Member[]): number {
  const seen = members.flatMap(member => member.got.map(placeOf))
  return new Set(seen).size
}

function placeOf({ topic, partition, offset }: LogRecord): string {
  return `${topic}/${partition}@${offset}`
}

function sharingTests(makeWorld: MakeWorld): void {
  test('L2 two members share a group: all records, one handler per partition at a time', () =>
    inWorld(makeWorld, { a: { partitions: 4 } }, async world => {
      const busy = new Map<number, RecordBatch>()
      const overlaps: string[] = []
      const handle = async (batch: RecordBatch) => {
        const other = busy.get(batch.partition)
        if (other?.isOwned() && batch.isOwned()) overlaps.push(`partition ${batch.partition}`)
        busy.set(batch.partition, batch)
        await new Promise(resolve => setImmediate(resolve))
        busy.delete(batch.partition)
      }
      const options = { group: 'g', topics: ['a'], batchMax: 20 }
      await world.log.append(records('a', 200))
      const one = await startMember(world.log, options, { handle })
      const two = await startMember(await rivalLog(world), options, { handle })
      await world.log.append(records('a', 200))
      await until('all records', () => distinct(one, two) >= 400, 60_000)
      assert.deepEqual(overlaps, [])
    }))

  test('L2 when a member stops, the other goes on where it committed', () =>
    inWorld(makeWorld, { a: { partitions: 4 } }, async world => {
      await world.log.append(records('a', 100))
      const options = { group: 'g', topics: ['a'] }
      const one = await startMember(world.log, options)
      const two = await startMember(await rivalLog(world), options)
      await until('the first hundred', () => distinct(one, two) >= 100, 60_000)
      await one.consumption.stop()
      const before = one.got.length
      await world.log.append(records('a', 100))
      await until('the second hundred', () => distinct(one, two) >= 200, 60_000)
      assert.equal(one.got.length, before)
      const places = two.got.map(placeOf)
      assert.equal(new Set(places).size, places.length, 'one delivery each')
    }))
}

function lossTests(makeWorld: MakeWorld): void {
  test('L4 a batch whose partition was taken away knows it, and its commit is refused', t =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async world => {
      if (!world.seize) return t.skip('ownership cannot be lost in this adapter')
      await world.log.append(records('a', 10))
      const held = gate()
      const member = await startMember(
        world.log,
        { group: 'g', topics: ['a'] },
        { commit: false, handle: () => held.opened },
      )
      await until('a batch in hand', () => member.batches.length > 0)
      const [batch] = member.batches
      assert.ok(batch)
      assert.ok(batch.isOwned())
      await world.seize('g', { topic: 'a', partition: 0 })
      await until('the batch knows', () => !batch.isOwned())
      await assert.rejects(batch.commit(10))
      await assert.rejects(batch.heartbeat())
      assert.equal((await world.log.lag('g', ['a']))[0]?.lag, 10)
      held.open()
    }))

  test('L4 a batch is no longer owned after stop', () =>
    inWorld(makeWorld, { a: { partitions: 1 } }, async ({ log }) => {
      await log.append(records('a', 5))
      const member = await startMember(log, { group: 'g', topics: ['a'] }, { commit: false })
      await until('all five', () => member.got.length >= 5)
      await member.consumption.stop()
      const [batch] = member.batches
      assert.ok(batch && !batch.isOwned())
      await assert.rejects(batch.commit(5))
      const next = await startMember(log, { group: 'g', topics: ['a'] })
      await until('all five again', () => next.got.length >= 5)
      assert.deepEqual(texts(next.got), ['0', '1', '2', '3', '4'])
    }))
}
