import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Operation } from '../operations/operation.ts'
import { sessionView } from './session-view.ts'

const FACTS = { session: 's1', agent: 'assistant', model: 'mock' }

const ENDED: Operation = {
  ...{ id: 'op1', tenant: 'local', agent: 'assistant', session: 's1', batch: 'm1', position: 0 },
  ...{ callId: 'c1', tool: 'create_ticket_async', language: 'en', target: 'VPN', item: {} },
  ...{ idempotencyKey: 'k1', handle: 'h', state: 'queued_for_sync', attempts: 1 },
  ...{ outcome: { ok: true }, delivery: 'queued', deliveredBy: null, acceptedAt: 1, updatedAt: 2 },
}

const said = (tells: { mode: 'proactive'; operations: string[] } | undefined) => ({
  ...{ messageId: 'm2', at: 3, item: { role: 'assistant' as const, text: 'Done.', toolCalls: [] } },
  ...(tells ? { tells } : {}),
})

describe('what people see of a session', () => {
  it('is told as soon as the words are there, before the operation is marked', () => {
    const tells = { mode: 'proactive' as const, operations: ['op1'] }
    const view = sessionView({ ...FACTS, entries: [said(tells)], operations: [ENDED] })
    assert.equal(view.summary, 'proactive')
    assert.equal(view.operations[0]?.state, 'proactively_notified')
  })

  it('waits to be told while the words tell of something else', () => {
    const view = sessionView({ ...FACTS, entries: [said(undefined)], operations: [ENDED] })
    assert.equal(view.summary, 'queued_final')
    assert.equal(view.operations[0]?.state, 'queued_for_sync')
  })
})
