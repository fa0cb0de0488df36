import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultPolicy } from '#kernel/domain/policy.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { applyObject } from './apply-object.ts'
import { type ChangeRequest, isRefusal } from './change-request.ts'

const TENANT = 'acme'
const context = {
  ...{ policy: defaultPolicy(TENANT), agent: () => undefined, connector: () => undefined },
  ...{ startsAt: {}, now: Date.parse('2026-12-01T09:00:00Z') },
}
const system: Principal = { tenant: TENANT, kind: 'system', id: 'mcp-poller', roles: [] }
const doc = { id: 'tickets', tenant: TENANT, version: 1, pins: {}, changed: {}, allow: [] }
const current = { version: 1, deleted: false, doc: doc as Record<string, unknown> }
const request = (action: string, hash: string | null, more = {}): ChangeRequest => ({
  ...{ changeId: 'x', tenant: TENANT, kind: 'connector', id: 'tickets', action, by: system },
  ...{ body: { operation: 'list', hash }, reason: '', ifVersion: 1 },
  ...more,
})

function applied(change: ChangeRequest, to = current) {
  const outcome = applyObject(to, change, context)
  assert.ok(!isRefusal(outcome))
  return outcome.next
}

describe('marks of a connector', () => {
  it('a hash that was read first stays, whoever comes later', () => {
    const first = applied(request('pin', 'one'))
    assert.deepEqual(first.doc.pins, { list: 'one' })
    const second = applied(request('pin', 'two', { ifVersion: 2 }), first)
    assert.deepEqual(second.doc.pins, { list: 'one' })
  })
  it('a changed operation is flagged until somebody writes the connector again', () => {
    const flagged = applied(request('flag', null))
    assert.deepEqual(flagged.doc.changed, { list: { hash: null, at: '2026-12-01T09:00:00.000Z' } })
    const body = { allow: [], pins: {}, changed: {} }
    const written = applied(request('put', null, { body, ifVersion: null }), flagged)
    assert.deepEqual([written.doc.changed, written.version], [{}, 3])
  })
  it('belong to the version that was seen, and to the poller', () => {
    for (const more of [
      { ifVersion: 0 },
      { by: { ...system, kind: 'person', roles: ['admin'] } },
    ]) {
      assert.ok(isRefusal(applyObject(current, request('flag', 'two', more), context)))
    }
  })
})
