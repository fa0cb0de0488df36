import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type Cluster from 'kafkajs/src/cluster/index.js'
import { createClusterSession } from './cluster-session.ts'
import type { KafkaConnection } from './kafka-connection.ts'
import { createTopicDirectory } from './topic-directory.ts'

const TOPICS = ['a', 'b']

/** A session on a cluster of two topics; a test may hold answers back, or have them replaced. */
function scriptedSession() {
  const state = { held: Promise.resolve(), isReplaced: false }
  let known = new Set<string>()
  const cluster = {
    targetTopics: new Set<string>(),
    connect: async () => {},
    disconnect: async () => {},
    async metadata() {
      await state.held
      return { topicMetadata: TOPICS.map(topic => ({ topic })) }
    },
    async refreshMetadata() {
      known = state.isReplaced ? new Set() : new Set(cluster.targetTopics)
      state.isReplaced = false
    },
    findTopicPartitionMetadata: (topic: string) =>
      known.has(topic) ? [{ partitionId: 0, leader: 1 }] : [],
  }
  const connection = { createCluster: () => cluster as unknown as Cluster }
  return { state, session: createClusterSession(connection as unknown as KafkaConnection) }
}

describe('a topic directory', () => {
  it('finds a topic that is asked for while another is being looked up', async () => {
    const { state, session } = scriptedSession()
    const directory = createTopicDirectory(session)
    const { promise, resolve } = Promise.withResolvers<void>()
    state.held = promise
    const first = directory.load(['a'])
    const second = directory.load(['b'])
    resolve()
    await Promise.all([first, second])
    assert.deepEqual([directory.countOf('a'), directory.countOf('b')], [1, 1])
  })

  it('asks again where an older answer took the place of the one it needs', async () => {
    const { state, session } = scriptedSession()
    const directory = createTopicDirectory(session)
    await directory.load(['a'])
    state.isReplaced = true
    await directory.load(['b'])
    assert.equal(directory.countOf('b'), 1)
  })

  it('leaves a topic unknown that does not exist, and finds it once it does', async () => {
    const { session } = scriptedSession()
    const directory = createTopicDirectory(session)
    await directory.load(['new'])
    assert.equal(directory.countOf('new'), 0)
    TOPICS.push('new')
    await directory.load(['new'])
    assert.equal(directory.countOf('new'), 1)
  })
})
