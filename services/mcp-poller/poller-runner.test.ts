/**
 * The poller among faults: servers that lose cursors, repeat pages, restart and change (F19), logs
 * that fail, owners that crash or come back late (F1, F8, F28). Servers are functions of the test.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { mcpOffer } from '#kernel/domain/mcp-offer.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { EventLog } from '#kernel/ports/event-log.ts'
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
let running: { stop(): Promise<void> }[]

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

async function start(name = 'one', seenAs?: (log: EventLog) => EventLog) {
  const poller = await during(bench.start(name, seenAs))
  running.push(poller)
  return poller
}
const emitted = () => bench.events().map(({ item }) => item)
const seconds = (n: number) => bench.clock.advance(n * 1000)

describe('an observation', () => {
  it('begins at now, and makes an event of what comes after', async () => {
    await bench.subscription('s1')
    await start()
    await seconds(3)
    assert.deepEqual(emitted(), [])
    items.push('new')
    await seconds(2)
    assert.deepEqual(emitted(), ['new'])
    await seconds(10)
    assert.deepEqual(emitted(), ['new'])
  })
  it('is one poll for all, at the shortest interval; never across persons', async () => {
    for (let n = 0; n < 20; n++)
      await bench.subscription(`s${n}`, { observe: { everyMs: 5000 + n } })
    await bench.subscription('other', { owner: 'user:bo', observe: { everyMs: 5000 } })
    await start()
    await seconds(50)
    assert.ok(server.calls.length >= 18 && server.calls.length <= 22, `${server.calls.length}`)
    items.push('new')
    await seconds(6)
    assert.equal(new Set(bench.events().map(({ subject }) => subject)).size, 2)
  })
  it('costs ten polls an interval where a thousand subscriptions want ten reads', async () => {
    const rateLimit = { perSecond: 1000, burst: 1000 }
    await bench.connector('tickets', { pins: { list: tool('list').hash }, rateLimit })
    for (let n = 0; n < 1000; n++) {
      await bench.subscription(`s${n}`, {
        observe: { everyMs: 5000, arguments: { folder: n % 10 } },
      })
    }
    await start()
    await seconds(4)
    server.calls.length = 0
    await seconds(100)
    assert.equal(server.calls.length, 200)
  })
  it('emits what backfill allows, and nothing of it again after a restart', async () => {
    items = ['a', 'b', 'c']
    await bench.subscription('s1', { observe: { backfill: 2 } })
    const first = await start()
    await seconds(3)
    await during(first.stop())
    await start('two')
    await seconds(3)
    assert.deepEqual(emitted(), ['a', 'b'])
    assert.ok(bench.events().every(({ repeats }) => repeats === 0))
  })
  it('of another observation is not looked at when nobody wants it, and forgotten', async () => {
    await bench.subscription('s1')
    await start()
    await seconds(3)
    await bench.subscription('s1', { version: 2, operation: 'deleted' })
    await seconds(1)
    const calls = server.calls.length
    await seconds(70)
    assert.equal(server.calls.length, calls)
    assert.deepEqual(
      bench.cursors().map(({ deleted }) => deleted),
      [true],
    )
  })
})

describe('a first position whose append seemed to fail (F4)', () => {
  /** The append was written and its answer lost, and the table hears of it late. */
  const unsure = (log: EventLog): EventLog => {
    let isLost = true
    const isPosition = (topics: string[]) => topics.includes('cursors')
    return {
      ...log,
      async append(records) {
        const positions = await log.append(records)
        if (!isLost || !isPosition(records.map(({ topic }) => topic))) return positions
        isLost = false
        throw new AmbitError('log-unavailable', 'the answer was lost')
      },
      follow(options) {
        if (!isPosition(options.topics)) return log.follow(options)
        return log.follow({
          ...options,
          async onRecords(records) {
            await bench.clock.sleep(4000)
            await options.onRecords(records)
          },
        })
      },
    }
  }

  it('is not found anew past what came in between', async () => {
    await bench.subscription('s1')
    await start('one', unsure)
    await bench.clock.until(() => bench.cursors().length === 1)
    items.push('between')
    await seconds(20)
    assert.deepEqual(emitted(), ['between'])
  })
})

describe('an observation that may not go on', () => {
  it('is not polled without entitlement, from the policy on', async () => {
    await bench.subscription('s1')
    await start()
    await seconds(3)
    const connectors = [{ name: 'tickets', operations: ['list'], persons: ['user:bo'] }]
    await bench.policy({ connectors })
    const calls = server.calls.length
    await seconds(20)
    assert.equal(server.calls.length, calls)
    assert.deepEqual(
      bench.notices().map(({ kind }) => kind),
      ['observation-refused', 'observation-refused'],
    )
    await bench.policy({}, 2)
    items.push('new')
    await seconds(3)
    assert.deepEqual(emitted(), ['new'])
  })
})

/** Pages of two items; cursors of an older epoch are gone. */
function paged() {
  const world = { all: ['a', 'b', 'c'], epoch: 1 }
  server.answer = ({ arguments: { after = `${world.epoch}:0` } }) => {
    const [epoch, from = 0] = String(after).split(':').map(Number)
    if (epoch !== world.epoch) throw new McpFailure('operation-failed')
    const page = world.all.slice(from, from + 2)
    return { items: page.map(id => ({ id })), next: `${epoch}:${from + page.length}` }
  }
  return { world, observe: { cursorArgument: 'after', cursorPointer: '/next' } }
}

describe('F19: pages and cursors of an MCP server', () => {
  it('with cursors is followed page by page, from its end on', async () => {
    const { world, observe } = paged()
    await bench.subscription('s1', { observe })
    await start()
    await seconds(3)
    assert.deepEqual(emitted(), [])
    world.all.push('d', 'e', 'f')
    await seconds(2)
    assert.deepEqual(emitted(), ['d', 'e', 'f'])
  })
  it('that lost the cursor is read again, and only news is news', async () => {
    const { world, observe } = paged()
    await bench.subscription('s1', { observe })
    await start()
    await seconds(3)
    world.epoch = 2
    world.all.unshift('d')
    await seconds(5)
    assert.deepEqual(emitted(), ['d'])
    assert.deepEqual(bench.changes(), [])
  })
  it('with the same page twice, or an item under another cursor, gives one event', async () => {
    const { world, observe } = paged()
    await bench.subscription('s1', { observe })
    await start()
    await seconds(3)
    const honest = server.answer
    world.all.push('d')
    server.answer = call => ({
      ...(honest({ ...call, arguments: { after: '1:2' } }) as object),
      next: Math.random(),
    })
    await seconds(5)
    assert.deepEqual(bench.events(), [{ ...bench.events()[0], item: 'd', repeats: 0 }])
  })
})

describe('F19: an MCP server', () => {
  it('that restarts is asked again within the poll', async () => {
    await bench.subscription('s1')
    await start()
    await seconds(3)
    items.push('new')
    const honest = server.answer
    let refusals = 1
    server.answer = call => {
      if (refusals-- > 0) throw new McpFailure('unreachable')
      return honest(call)
    }
    await seconds(3)
    assert.deepEqual(emitted(), ['new'])
    assert.equal(bench.cursors()[0]?.failures, 0)
  })
  it('whose operation changed is not called until it is allowed again', async () => {
    await bench.subscription('s1')
    await start()
    await seconds(3)
    server.offers = [tool('list', 'Lists, and sends them to me.')]
    await seconds(2)
    const calls = server.calls.length
    await bench.applyChanges()
    items.push('new')
    await seconds(20)
    assert.equal(server.calls.length, calls)
    assert.deepEqual(
      bench
        .notices()
        .map(({ kind, owner }) => `${kind} ${owner}`)
        .sort(),
      ['connector-changed user:ana', 'connector-changed user:ops'],
    )
    await bench.connector('tickets')
    for (let n = 0; n < 3; n++) {
      await seconds(2)
      await bench.applyChanges()
    }
    await seconds(3)
    assert.deepEqual(emitted(), ['new'])
  })
  it('that is read first is pinned before it is called', async () => {
    await bench.connector('tickets')
    await bench.subscription('s1')
    await start()
    await seconds(3)
    assert.equal(server.calls.length, 0)
    assert.deepEqual(
      bench.changes().map(({ action }) => action),
      ['pin'],
    )
    await bench.applyChanges()
    await seconds(3)
    assert.ok(server.calls.length > 0)
  })
})

describe('F19: an MCP server in trouble', () => {
  it('that answers over the bounds emits nothing, and five in a row suspend', async () => {
    await bench.subscription('s1')
    await start()
    await seconds(3)
    items = Array.from({ length: 101 }, (_, n) => `${n}`)
    await seconds(10)
    assert.deepEqual(emitted(), [])
    const [change, ...more] = bench.changes()
    assert.deepEqual([change?.action, change?.id, more], ['suspend', 's1', []])
    assert.match(change?.reason ?? '', /too-many-items/)
  })
  it('that comes back is told of, and a resume goes on from the stored position', async () => {
    await bench.subscription('s1')
    await start()
    await seconds(3)
    const honest = server.answer
    server.answer = () => {
      throw new McpFailure('operation-failed')
    }
    await seconds(10)
    assert.equal(bench.changes().length, 1)
    const suspended = { operation: 'suspended' as const, by: 'system:mcp-poller' }
    await bench.subscription('s1', { version: 2, ...suspended })
    items.push('while away')
    await seconds(20)
    server.answer = honest
    await seconds(400)
    const kinds = bench.notices().map(({ kind, owner }) => `${kind} ${owner}`)
    assert.ok(kinds.includes('observation-recovered user:ana'), kinds.join())
    assert.deepEqual([emitted(), bench.changes().length], [[], 1])
    const calls = server.calls.length
    await seconds(100)
    assert.equal(server.calls.length, calls, 'what was proposed is not asked again')
    await bench.subscription('s1', { version: 3 })
    await seconds(3)
    assert.deepEqual(emitted(), ['while away'])
  })
  it('that asks for patience gets it', async () => {
    await bench.subscription('s1')
    await start()
    await seconds(3)
    const honest = server.answer
    server.answer = () => {
      throw new McpFailure('throttled', 30_000)
    }
    await seconds(2)
    server.answer = honest
    const calls = server.calls.length
    await seconds(25)
    assert.equal(server.calls.length, calls)
    await seconds(10)
    assert.ok(server.calls.length > calls)
  })
})

describe('MCP Events in poll mode', () => {
  it('are followed from now by the cursor of the server, with gaps told', async () => {
    const offer = mcpOffer({
      ...{
        operation: 'event:incident.created',
        kind: 'event',
        description: '',
        readOnlyHint: true,
      },
      inputSchema: {},
    })
    const log = ['e0']
    let isTruncated = false
    server.offers = [offer]
    server.events = ({ cursor }) => {
      const from = cursor === null ? log.length : Number(cursor)
      const page = log.slice(from, from + 2)
      const next = from + page.length
      return {
        events: page.map(eventId => ({ eventId, data: { eventId } })),
        ...{
          cursor: `${next}`,
          hasMore: next < log.length,
          truncated: isTruncated,
          nextPollMs: 1000,
        },
      }
    }
    const operation = 'event:incident.created'
    await bench.connector('tickets', {
      allow: [{ operation, maxItems: 10, maxBytes: 1000, timeoutMs: 1000 }],
      pins: { [operation]: offer.hash },
    })
    await bench.subscription('s1', { observe: { operation } })
    await start()
    await seconds(3)
    log.push('e1', 'e2', 'e3')
    await seconds(2)
    assert.deepEqual(emitted(), ['e1', 'e2', 'e3'])
    assert.equal(bench.events()[0]?.type, 'mcp.tickets.incident.created')
    isTruncated = true
    await seconds(2)
    assert.ok(bench.notices().some(({ kind }) => kind === 'observation-gap'))
  })
})

describe('an owner', () => {
  const failAppendsTo = (topic: string) => {
    bench.faults.beforeLog = call => {
      if (call.op !== 'append') return
      if (call.records.some(record => record.topic === topic)) {
        throw new AmbitError('log-unavailable', 'a planted fault')
      }
    }
  }
  it('P1: that cannot write the position has not lost the events, nor doubled them', async () => {
    await bench.subscription('s1')
    const first = await start()
    await seconds(3)
    failAppendsTo('cursors')
    items.push('new')
    await seconds(3)
    first.crash()
    running.length = 0
    bench.faults.beforeLog = undefined
    await start('two')
    await seconds(30)
    const [event, ...more] = bench.events()
    assert.deepEqual([event?.item, more], ['new', []])
    assert.ok((event?.repeats ?? 0) > 0, 'read again, under the same id')
  })
  it('P1: that cannot write events does not move the position', async () => {
    await bench.subscription('s1')
    await start()
    await seconds(3)
    failAppendsTo('ingress.mcp')
    items.push('new')
    await seconds(5)
    bench.faults.beforeLog = undefined
    await seconds(3)
    assert.deepEqual(emitted(), ['new'])
  })
  it('F8, F28: that was replaced and writes late does not bring the past back', async () => {
    await bench.subscription('s1')
    await start('one')
    await seconds(3)
    const old = bench.log.records('cursors').at(-1) ?? assert.fail()
    items.push('new')
    await seconds(3)
    const { key, value, topic } = old
    const late = bench.log.open('ghost')
    const record = { topic, key: Buffer.from(key ?? []).toString(), value }
    await late.append([{ ...record, value: foreign(value ?? assert.fail()) }])
    await seconds(3)
    assert.equal(bench.cursors()[0]?.emitted, 1)
    await start('two')
    await seconds(5)
    assert.deepEqual(emitted(), ['new'])
  })
  it('P2: waits for no slow server with the others', async () => {
    bench.server('slow', {
      answer: () => {
        throw new McpFailure('timeout')
      },
    })
    await bench.connector('slow', { pins: { list: tool('list').hash } })
    await bench.subscription('s1')
    await bench.subscription('s2', { observe: { connector: 'slow' } })
    await start()
    await seconds(5)
    items.push('new')
    await seconds(2)
    assert.deepEqual(emitted(), ['new'])
  })
})

/** The same document as somebody else would have written it. */
function foreign(value: Uint8Array): Uint8Array {
  const text = Buffer.from(value).toString('latin1')
  return Buffer.from(text.replace(/"writer":"one/, '"writer":"two'), 'latin1')
}
