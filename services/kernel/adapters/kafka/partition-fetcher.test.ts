import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Broker } from 'kafkajs/src/cluster/index.js'
import type { ClusterSession } from './cluster-session.ts'
import { createPartitionFetcher, type PartitionFetcher } from './partition-fetcher.ts'

const PLACE = { topic: 'events', partition: 0 }

/** A session whose leader and health a test sets; every fetch answers one record more. */
function scriptedSession() {
  const state = { leader: 1 as number | undefined, isBroken: false, fetches: 0 }
  const broker = {
    async fetch() {
      await sleep(5)
      if (state.isBroken) throw new Error('the broker is away')
      state.fetches += 1
      return { responses: [{ topicName: PLACE.topic, partitions: [] }] }
    },
  } as unknown as Broker
  const session = {
    leaderOf: () => state.leader,
    node: async () => broker,
    recover: async () => {},
  } as unknown as ClusterSession
  return { state, session }
}

const silent = { debug() {}, info() {}, warn() {} }

describe('a partition fetcher', () => {
  let fetcher: PartitionFetcher | undefined
  afterEach(() => fetcher?.stop())

  it('reads again after every outage, also when partitions were lost during one', async () => {
    const { state, session } = scriptedSession()
    fetcher = createPartitionFetcher({
      session,
      logger: silent,
      onChunk() {},
      isFull: () => false,
    })
    const assign = () => fetcher?.assign([{ ...PLACE, offset: 0 }])
    assign()
    for (let outage = 0; outage < 3; outage++) {
      await untilFetched(state)
      state.isBroken = true
      state.leader = undefined
      await sleep(120)
      // The group gives the partitions away while nobody leads them, and then back.
      fetcher.clear()
      await sleep(200)
      state.leader = 1
      assign()
      await sleep(20)
      state.leader = undefined
      await sleep(200)
      state.isBroken = false
      state.leader = 1
    }
    await untilFetched(state)
  })
})

async function untilFetched(state: { fetches: number }): Promise<void> {
  const before = state.fetches
  for (let waited = 0; state.fetches <= before; waited += 20) {
    assert.ok(waited < 5000, 'nothing was read any more')
    await sleep(20)
  }
}
