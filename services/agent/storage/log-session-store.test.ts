import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KEY } from '#test/support/agent-world.ts'
import { createLogSessionStore } from './log-session-store.ts'
import { documentKey, type SessionTable } from './session-table.ts'

function memoryTable(): SessionTable {
  const documents = new Map<string, unknown>()
  return {
    get: <T>(place: Parameters<typeof documentKey>[0]) =>
      documents.get(documentKey(place)) as T | undefined,
    async update(place, change) {
      const next = change(documents.get(documentKey(place)) as never)
      if (next !== undefined) documents.set(documentKey(place), next)
      return next
    },
    remove: async place => void documents.delete(documentKey(place)),
    barrier: async () => {},
  }
}

const intentOf = (messageId: string) => ({ messageId, entriesBefore: 1, text: '', toolCalls: [] })

describe('the store of a session', () => {
  it('keeps the intent of one message while another of the session is worked on', async () => {
    const table = memoryTable()
    const first = createLogSessionStore(table, () => 1)
    await first.openIntent(KEY, intentOf('m1'))
    const second = createLogSessionStore(table, () => 2)
    await second.openIntent(KEY, intentOf('m2'))
    await second.closeIntent(KEY, 'm2')
    assert.deepEqual(await second.findIntent(KEY, 'm1'), intentOf('m1'))
    assert.equal(await second.findIntent(KEY, 'm2'), undefined)
  })

  it('refuses an intent of whoever lost the lease', async () => {
    const table = memoryTable()
    await createLogSessionStore(table, () => 2).openIntent(KEY, intentOf('m2'))
    const stale = createLogSessionStore(table, () => 1)
    await assert.rejects(stale.openIntent(KEY, intentOf('m1')), /newest lease/)
  })
})
