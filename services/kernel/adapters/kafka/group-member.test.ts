import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { AssignerProtocol } from 'kafkajs'
import type { Broker } from 'kafkajs/src/cluster/index.js'
import type { ClusterSession } from './cluster-session.ts'
import { type GroupMember, startGroupMember, type Tenure } from './group-member.ts'

const TIMES = { sessionMs: 300, rebalanceMs: 300, heartbeatMs: 20 }

/** A group of one member, whose broker answers heartbeats only while a test lets it. */
function scriptedGroup() {
  const silence: { ended: Promise<void>; end(): void } = { ended: Promise.resolve(), end() {} }
  let generation = 0
  const stored: unknown[] = []
  const broker = {
    async joinGroup() {
      generation += 1
      return { generationId: generation, leaderId: 'm', memberId: 'm', members: [] }
    },
    syncGroup: async () => ({
      memberAssignment: AssignerProtocol.MemberAssignment.encode({
        version: 0,
        assignment: { events: [0] },
        userData: Buffer.alloc(0),
      }),
    }),
    heartbeat: () => silence.ended,
    leaveGroup: async () => {},
    offsetCommit: async ({ topics }: { topics: unknown }) => void stored.push(topics),
  } as unknown as Broker
  const session = {
    coordinator: async () => broker,
    recover: async () => {},
    track: async (topics: string[]) => topics,
    partitionsOf: (topic: string) => [{ topic, partition: 0 }],
  } as unknown as ClusterSession
  return {
    session,
    stored,
    fallSilent() {
      const { promise, resolve } = Promise.withResolvers<void>()
      Object.assign(silence, { ended: promise, end: resolve })
    },
    speakAgain() {
      silence.end()
      silence.ended = Promise.resolve()
    },
  }
}

const silent = { debug() {}, info() {}, warn() {} }

describe('a member of a group', () => {
  let member: GroupMember | undefined
  afterEach(() => member?.stop())

  function start(session: ClusterSession): Tenure[] {
    const tenures: Tenure[] = []
    member = startGroupMember({
      session,
      reading: session,
      logger: silent,
      group: 'g',
      times: TIMES,
      topics: async () => ['events'],
      begin: tenure => void tenures.push(tenure),
      drain: async () => {},
    })
    return tenures
  }

  it('never believes again in a tenure that it doubted, and begins a new one', async () => {
    const group = scriptedGroup()
    const tenures = start(group.session)
    await until('it owns', () => tenures[0]?.holds() === true)
    const [first] = tenures
    assert.ok(first)
    group.fallSilent()
    await until('it doubts', () => !first.holds())
    group.speakAgain()
    await until('it owns again', () => {
      assert.equal(first.holds(), false)
      return tenures[1]?.holds() === true
    })
    await assert.rejects(first.commit([{ topic: 'events', partition: 0, offset: 1 }]), {
      code: 'conflict',
    })
  })

  it('stores in one request what is to be stored in one moment', async () => {
    const { session, stored } = scriptedGroup()
    const tenures = start(session)
    await until('it owns', () => tenures[0]?.holds() === true)
    const at = (partition: number, offset: number) =>
      tenures[0]?.commit([{ topic: 'events', partition, offset }])
    await Promise.all([at(0, 3), at(1, 7), at(0, 4)])
    const partitions = [
      { partition: 0, offset: '4' },
      { partition: 1, offset: '7' },
    ]
    assert.deepEqual(stored, [[{ topic: 'events', partitions }]])
    await at(0, 5)
    assert.equal(stored.length, 2)
  })

  it('goes on with a tenure through a silence that nobody can have used', async () => {
    const group = scriptedGroup()
    const tenures = start(group.session)
    await until('it owns', () => tenures[0]?.holds() === true)
    group.fallSilent()
    await sleep(TIMES.sessionMs / 3)
    group.speakAgain()
    await sleep(TIMES.sessionMs)
    assert.deepEqual([tenures.length, tenures[0]?.holds()], [1, true])
  })
})

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (let waited = 0; !isSo(); waited += 5) {
    assert.ok(waited < 3000, `waited for nothing: ${what}`)
    await sleep(5)
  }
}
