import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Connector, connectorSchema } from '#kernel/domain/connector.ts'
import { mcpOffer } from '#kernel/domain/mcp-offer.ts'
import type { ObservationState } from '#kernel/domain/observation-state.ts'
import { observationKey } from '#kernel/domain/observation-state.ts'
import { defaultPolicy } from '#kernel/domain/policy.ts'
import { observeSchema } from '#kernel/domain/trigger.ts'
import type { Change, EventRecord, Notice } from '#schemas/generated/records.ts'
import { blankState, decidePoll } from './decide-poll.ts'
import { decideProbe, liveOf } from './decide-probe.ts'
import type { Observation, Subscriber } from './observation-book.ts'
import type { Decided, PollFacts, PollResult } from './poll-result.ts'
import { itemOf } from './read-items.ts'
import { driftOf, permissionOf } from './refusal-of.ts'

const TENANT = 'acme'
const NOW = Date.parse('2026-12-01T09:00:00Z')

const subscriber = (id: string, more: Partial<Subscriber> = {}): Subscriber => ({
  ...{ id, version: 1, name: id, owner: 'user:ana', agent: 'triage', everyMs: 1000, backfill: 0 },
  ...{ isLive: true, isSuspendedHere: false, ...more },
})
function observation(...subscribers: Subscriber[]): Observation {
  const observe = observeSchema.parse({ connector: 'tickets', operation: 'list', everyMs: 1000 })
  return {
    ...{
      id: 'ob_1',
      tenant: TENANT,
      key: observationKey(TENANT, 'ob_1'),
      scope: 'user:ana',
      observe,
    },
    subscribers: new Map(subscribers.map(each => [each.id, each])),
  }
}
const connector = (
  more: Partial<Pick<Connector, 'allow' | 'pins' | 'changed'>> = {},
): Connector => ({
  ...connectorSchema.parse({
    ...{ transport: 'http', url: 'https://mcp.example.com/', allow: [{ operation: 'list' }] },
  }),
  ...{
    id: 'tickets',
    tenant: TENANT,
    version: 3,
    owner: 'user:ops',
    pins: {},
    changed: {},
    ...more,
  },
})
function facts(...subscribers: Subscriber[]): PollFacts {
  const live = subscribers.filter(({ isLive }) => isLive)
  const of = observation(...subscribers)
  return { observation: of, live, connector: connector(), now: NOW, writer: 'w' }
}
const answered = (...ids: string[]): PollResult => ({
  kind: 'answered',
  position: { isPositioned: true, cursor: null, seen: ids },
  fresh: ids.map(id => ({ item: itemOf(id, { id }) ?? assert.fail(), change: 'new' as const })),
})
const of = <T>({ outputs }: Decided, topic: string) =>
  outputs.filter(output => output.topic === topic).map(({ value }) => value as T)
const changes = (decided: Decided) => of<Change>(decided, 'registry.changes')
const notices = (decided: Decided) => of<Notice>(decided, 'notices')

/** Fails as often as given. */
function fail(times: number, by: PollFacts, from?: ObservationState): Decided {
  let decided: Decided | undefined
  for (let n = 0; n < times; n++) {
    decided = decidePoll(decided?.state ?? from, { kind: 'failed', error: 'unreachable' }, by)
  }
  return decided ?? assert.fail()
}

describe('an answered poll', () => {
  it('gives each item an event of the observation, with the identity as dedup key', () => {
    const decided = decidePoll(undefined, answered('T-1'), facts(subscriber('s1')))
    const [event] = of<EventRecord>(decided, 'ingress.mcp')
    const { type, source, subject, dedupkey, tenant, onbehalfof } = event?.attributes ?? {}
    assert.deepEqual(
      [type, source, subject, dedupkey, tenant, onbehalfof],
      ['mcp.tickets.list', '/mcp/tickets', 'ob_1', 'T-1', TENANT, 'user:ana'],
    )
    assert.equal(event?.json, '{"id":"T-1"}')
  })
  it('gives the same item the same event when it is read again', () => {
    const by = facts(subscriber('s1'))
    const one = decidePoll(undefined, answered('T-1'), by).outputs[0]
    const later = decidePoll(undefined, answered('T-1'), { ...by, now: NOW + 5000 }).outputs[0]
    assert.equal(one?.id, later?.id)
  })
  it('is not worth a record when there was nothing new a moment ago', () => {
    const by = facts(subscriber('s1'))
    const first = decidePoll(undefined, answered('T-1'), by)
    const quiet: PollResult = { ...answered(), position: first.state } as PollResult
    const soon = decidePoll(first.state, quiet, { ...by, now: NOW + 1000 })
    const late = decidePoll(first.state, quiet, { ...by, now: NOW + 61_000 })
    assert.deepEqual([first.isNews, soon.isNews, late.isNews], [true, false, true])
    assert.deepEqual(soon.outputs, [])
  })
  it('tells the owners of a gap that the source admits', () => {
    const gap = { ...answered(), hasGap: true } as PollResult
    const decided = decidePoll(undefined, gap, facts(subscriber('s1')))
    assert.deepEqual(
      notices(decided).map(({ kind, owner }) => `${kind} ${owner}`),
      ['observation-gap user:ana', 'observation-gap user:ops'],
    )
    assert.equal(decided.state.gapAt, '2026-12-01T09:00:00.000Z')
  })
})

describe('a failed poll', () => {
  it('moves nothing and emits nothing', () => {
    const by = facts(subscriber('s1'))
    const before = decidePoll(undefined, answered('T-1'), by).state
    const { state, outputs } = fail(4, by, before)
    assert.deepEqual(outputs, [])
    assert.deepEqual([state.seen, state.failures, state.error], [['T-1'], 4, 'unreachable'])
  })
  it('five in a row suspend every dependent with the cause, and tell each owner once', () => {
    const by = facts(
      subscriber('s1'),
      subscriber('s2', { version: 7 }),
      subscriber('s3', { owner: 'user:bo' }),
    )
    const decided = fail(5, by)
    assert.deepEqual(
      changes(decided).map(({ id, action, ifVersion }) => `${action} ${id} ${ifVersion}`),
      ['suspend s1 1', 'suspend s2 7', 'suspend s3 1'],
    )
    assert.match(changes(decided)[0]?.reason ?? '', /tickets failed 5 polls of list.*unreachable/)
    assert.deepEqual(
      notices(decided).map(({ owner }) => owner),
      ['user:ana', 'user:bo', 'user:ops'],
    )
    assert.deepEqual(liveOf(by.observation, decided.state), [])
  })
  it('an answer in between starts the count again', () => {
    const by = facts(subscriber('s1'))
    const four = fail(4, by).state
    const after = decidePoll(four, answered(), by).state
    assert.deepEqual(fail(4, by, after).outputs, [])
  })
  it('after a resume it takes five again, from the stored position', () => {
    const by = facts(subscriber('s1'))
    const suspended = fail(5, by, decidePoll(undefined, answered('T-1'), by).state).state
    const resumed = facts(subscriber('s1', { version: 3 }))
    assert.equal(liveOf(resumed.observation, suspended).length, 1)
    assert.deepEqual(fail(4, resumed, suspended).outputs, [])
    assert.equal(changes(fail(5, resumed, suspended)).length, 1)
    const { state } = decidePoll(
      suspended,
      { ...answered(), position: suspended } as PollResult,
      resumed,
    )
    assert.deepEqual([state.seen, state.suspended], [['T-1'], null])
  })
})

describe('a probe', () => {
  const by = facts(subscriber('s1', { isLive: false, isSuspendedHere: true }))
  const suspended = fail(5, facts(subscriber('s1'))).state
  it('proposes to resume, and resumes nobody', () => {
    const decided = decideProbe(suspended, undefined, by)
    assert.deepEqual(changes(decided), [])
    const told = notices(decided).map(({ kind, owner }) => `${kind} ${owner}`)
    assert.deepEqual(told, ['observation-recovered user:ana', 'observation-recovered user:ops'])
    assert.ok(decided.state.suspended?.proposedAt)
  })
  it('that fails says nothing and waits longer', () => {
    const decided = decideProbe(suspended, 'timeout', by)
    assert.deepEqual([decided.outputs, decided.state.suspended?.probes], [[], 1])
  })
})

describe('an operation', () => {
  const offer = mcpOffer({
    ...{ operation: 'list', kind: 'tool', description: 'Lists.', readOnlyHint: true },
    inputSchema: {},
  })
  const refusalOf = (permission: ReturnType<typeof permissionOf>) =>
    permission.kind === 'refused' ? permission.refusal : permission.kind
  it('is called only while it is allowed, and the person entitled', () => {
    const seen = observation()
    const policy = defaultPolicy(TENANT)
    assert.equal(refusalOf(permissionOf(seen, connector(), policy)), 'permitted')
    assert.equal(refusalOf(permissionOf(seen, undefined, policy)), 'no-connector')
    assert.equal(refusalOf(permissionOf(seen, connector({ allow: [] }), policy)), 'not-allowed')
    const connectors = [{ name: 'tickets', operations: ['list'], persons: ['user:bo'] }]
    assert.equal(refusalOf(permissionOf(seen, connector(), { connectors })), 'not-entitled')
    const changed = { list: { hash: 'x', at: '' } }
    assert.equal(refusalOf(permissionOf(seen, connector({ changed }), policy)), 'operation-changed')
  })
  it('that is read first is pinned before it is called', () => {
    const drift = driftOf(connector(), 'list', [offer])
    assert.deepEqual(drift, { kind: 'unpinned', hash: offer.hash })
    const decided = decidePoll(undefined, drift ?? assert.fail(), facts(subscriber('s1')))
    const [change] = changes(decided)
    assert.deepEqual(
      [change?.action, change?.body],
      ['pin', { operation: 'list', hash: offer.hash }],
    )
  })
  it('whose description or schema changed is not called; flagged and told once', () => {
    const pins = { list: offer.hash }
    assert.equal(driftOf(connector({ pins }), 'list', [offer]), undefined)
    for (const other of [
      { ...offer, description: 'Lists, and deletes.' },
      { ...offer, inputSchema: { type: 'object' } },
    ]) {
      const drift = driftOf(connector({ pins }), 'list', [mcpOffer(other)]) ?? assert.fail()
      const by = facts(subscriber('s1'))
      const decided = decidePoll(undefined, drift, by)
      assert.equal(changes(decided)[0]?.action, 'flag')
      assert.deepEqual(
        notices(decided).map(({ owner }) => owner),
        ['user:ana', 'user:ops'],
      )
      assert.deepEqual(notices(decidePoll(decided.state, drift, by)), [])
      assert.equal(decided.state.failures, 0)
    }
  })
  it('that is gone is changed too', () => {
    const drift = driftOf(connector({ pins: { list: offer.hash } }), 'list', [])
    assert.deepEqual(drift, { kind: 'refused', refusal: 'operation-changed', hash: null })
    assert.equal(driftOf(connector(), 'list', [])?.kind, 'refused')
  })
  it('works again when it is allowed again', () => {
    const by = facts(subscriber('s1'))
    const refused: PollResult = { kind: 'refused', refusal: 'not-allowed' }
    const before = decidePoll(blankState(by), refused, by).state
    const { state, isNews } = decidePoll(before, answered(), by)
    assert.deepEqual([before.refusal, state.refusal, isNews], ['not-allowed', null, true])
  })
})
