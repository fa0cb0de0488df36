/** The event log contract on a real broker, and what a group of several members owes its work. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { skipWithoutInfra } from '#test/support/live-infra.ts'
import { eventLogContract } from './event-log.ts'
import { inWorld, type Member, records, startMember, until } from './event-log-world.ts'
import { makeKafkaWorld } from './kafka-world.ts'

eventLogContract('Kafka', makeKafkaWorld, skipWithoutInfra)

describe('a hand-over on Kafka', { skip: skipWithoutInfra }, () => {
  test('lets the owner end what it does besides its batches while it still owns them', () =>
    inWorld(makeKafkaWorld, { a: { partitions: 2 } }, async world => {
      const options = { group: 'g', topics: ['a'] }
      const told: { isOwned: boolean | undefined; isTaken: boolean }[] = []
      let rival: Member | undefined
      const onHandOver = async () => {
        await setImmediate()
        const isTaken = rival?.assigned.some(places => places.length > 0) ?? false
        told.push({ isOwned: owner.batches.at(-1)?.isOwned(), isTaken })
      }
      const owner = await startMember(world.log, { ...options, onHandOver })
      await world.log.append(records('a', 20))
      await until('the first records', () => owner.got.length === 20, 60_000)
      rival = await startMember((await world.another?.()) ?? world.log, options)
      await until('a partition for the rival', () => rival?.assigned[0]?.length === 1, 60_000)
      assert.deepEqual(told, [{ isOwned: true, isTaken: false }])
    }))
})
