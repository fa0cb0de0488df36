import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import { AmbitError } from '#kernel/errors.ts'
import { McpFailure } from '#kernel/ports/mcp-client.ts'
import {
  createPollerBench,
  type FakeServer,
  type PollerBench,
  tool,
} from '#test/support/poller-world.ts'

let bench: PollerBench
let server: FakeServer
let items: string[]
let running: Awaited<ReturnType<PollerBench['start']>>[]

beforeEach(async () => {
  bench = createPollerBench()
  items = ['old']
  running = []
  server = bench.server('tickets', { answer: () => ({ items: items.map(id => ({ id })) }) })
  await bench.connector('tickets', { pins: { list: tool('list').hash } })
})
afterEach(async () => {
  bench.faults.beforeLog = undefined
  for (const each of running) await during(each.stop())
})

const during = <T>(call: Promise<T>) => bench.clock.during(call)

async function start(name = 'one') {
  const poller = await during(bench.start(name))
  running.push(poller)
  return poller
}

const seconds = (n: number) => bench.clock.advance(n * 1000)
const counted = () => bench.usage().reduce((sum, { calls }) => sum + calls, 0)
const untold = () => server.calls.length - counted()
/** Something new makes the position be written, and the count with it. */
async function tell(): Promise<void> {
  items.push(`new ${items.length}`)
  await seconds(2)
}

it('counts every poll once, however many share it, for who wants it most often', async () => {
  await bench.subscription('slow', { observe: { everyMs: 60_000 } })
  await bench.subscription('b')
  await bench.subscription('a')
  await start()
  await seconds(90)
  await tell()
  const usage = bench.usage()
  // Quiet polls after the last news are told with the next.
  assert.ok(untold() <= 1, `${untold()} untold`)
  assert.ok(usage.length < 10, `${usage.length} records of ${counted()} polls`)
  assert.deepEqual([...new Set(usage.map(({ subscription }) => subscription))], ['a'])
  const { stage, owner, agent, inputTokens, outputTokens, cost } = usage[0] ?? assert.fail()
  assert.deepEqual({ stage, owner, agent }, { stage: 'poll', owner: 'user:ana', agent: 'triage' })
  assert.deepEqual([inputTokens, outputTokens, Number(cost)], [0, 0, 0])
})

it('counts failed polls with their tries as one, and none that asks nobody', async () => {
  await bench.subscription('s1', { observe: { everyMs: 30_000 } })
  server.answer = () => {
    throw new McpFailure('unreachable')
  }
  await start()
  await seconds(50)
  assert.equal(server.calls.length, 6)
  assert.equal(counted(), 2)
  const connectors = [{ name: 'tickets', operations: ['list'], persons: ['user:bo'] }]
  await bench.policy({ connectors })
  await seconds(200)
  assert.equal(counted(), 2)
})

it('goes on counting in the next process, and after the observation was forgotten', async () => {
  await bench.subscription('s1')
  const first = await start()
  await seconds(5)
  await tell()
  running.pop()
  await during(first.stop())
  await start('two')
  await seconds(5)
  await tell()
  await bench.subscription('s1', { version: 2, operation: 'deleted' })
  await seconds(70)
  await bench.subscription('s2')
  await seconds(5)
  await tell()
  const attempts = bench.usage().map(({ attempt }) => attempt)
  assert.equal(new Set(attempts).size, attempts.length)
  assert.ok(untold() >= 0 && untold() <= 6, `${untold()} untold`)
})

it('counts nothing twice where the log fails after the record', async () => {
  await bench.subscription('s1')
  await start()
  await seconds(3)
  const failures = { left: 3 }
  bench.faults.beforeLog = call => {
    if (call.op !== 'append' || call.records[0]?.topic !== 'cursors' || failures.left-- <= 0) return
    throw new AmbitError('log-unavailable', 'as the test wants it')
  }
  await tell()
  await tell()
  await seconds(5)
  await tell()
  assert.ok(failures.left <= 0)
  assert.ok(untold() >= 0 && untold() <= 6, `${untold()} untold`)
})
