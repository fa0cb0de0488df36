import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createAppendLane } from './append-lane.ts'
import type { KafkaConnection } from './kafka-connection.ts'
import type { TopicDirectory } from './topic-directory.ts'

interface Sending {
  producer: number
  values: string[]
}

type Answers = { topicName: string; partition: number; errorCode: number; baseOffset: string }[]

/** A lane on a topic of two partitions, whose producers answer as the test says. */
function scriptedLane(answer: (request: number) => Answers, connect = async () => {}) {
  const sendings: Sending[] = []
  let producers = 0
  const kafka = {
    producer() {
      const producer = producers++
      return {
        connect,
        disconnect: async () => {},
        async sendBatch({ topicMessages }: { topicMessages: { messages: { value: Buffer }[] }[] }) {
          const values = topicMessages.flatMap(({ messages }) => messages.map(m => String(m.value)))
          sendings.push({ producer, values })
          return answer(sendings.length)
        },
      }
    },
  }
  const logger = { debug() {}, info() {}, warn() {} }
  const connection = { kafka, logger, outer: (topic: string) => topic }
  const directory = { countOf: () => 2 }
  const lane = createAppendLane(
    connection as unknown as KafkaConnection,
    directory as unknown as TopicDirectory,
  )
  return { lane, sendings }
}

const answerOf = (partition: number, baseOffset: string) => ({
  ...{ topicName: 'a', partition, errorCode: 0, baseOffset },
})
const records = ['k0', 'k1', 'k2', 'k3'].map(key => ({
  ...{ topic: 'a', key, value: Buffer.from(key) },
}))

describe('an append lane', () => {
  it('answers for nothing that no broker has answered for, and sends it again', async () => {
    const whole = [answerOf(0, '10'), answerOf(1, '20')]
    const { lane, sendings } = scriptedLane(request => (request === 1 ? [answerOf(0, '7')] : whole))
    const positions = await lane.append(records)
    const of = (n: number) => positions.filter(p => p.partition === n).map(({ offset }) => offset)
    assert.ok(of(0).length > 0 && of(1).length > 0)
    assert.deepEqual([of(0)[0], of(1)[0]], [10, 20])
    // A new producer has fresh metadata, and no sequence numbers of the one that failed.
    assert.deepEqual(
      sendings.map(({ producer, values }) => [producer, values.length]),
      [
        [0, 4],
        [1, 4],
      ],
    )
    await lane.stop()
  })

  it('keeps a connection under way, also when an append has given up waiting for it', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { lane, sendings } = scriptedLane(
      () => [answerOf(0, '0'), answerOf(1, '0')],
      () => promise,
    )
    await assert.rejects(lane.append(records), { code: 'log-unavailable' })
    const appended = lane.append(records)
    resolve()
    await appended
    assert.deepEqual(
      sendings.map(({ producer }) => producer),
      [0],
    )
    await lane.stop()
  })
})
