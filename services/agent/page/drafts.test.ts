import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KEY } from '#test/support/agent-world.ts'
import { createManualClock } from '#test/support/manual-clock.ts'
import { createDrafts } from './drafts.ts'

function watched() {
  const clock = createManualClock(0)
  const drafts = createDrafts(clock)
  const seen: (string | null)[] = []
  const stop = drafts.watch(KEY, () => seen.push(drafts.of(KEY)?.text ?? null))
  return { clock, drafts, seen, stop }
}

describe('an answer while it comes', () => {
  it('is shown at most every 50 ms, and its end at once', async () => {
    const { clock, drafts, seen } = watched()
    for (const text of ['a', 'ab', 'abc']) drafts.set(KEY, 'm1', text)
    assert.deepEqual(seen, [])
    await clock.advance(50)
    drafts.set(KEY, 'm1', 'abcd')
    drafts.set(KEY, 'm1', undefined)
    assert.deepEqual(seen, ['abc', null])
    await clock.advance(50)
    assert.deepEqual(seen, ['abc', null])
    assert.equal(drafts.of(KEY), null)
  })

  it('is not shown to another session, nor after watching has ended', async () => {
    const { clock, drafts, seen, stop } = watched()
    drafts.set({ ...KEY, session: 'another' }, 'm1', 'a')
    await clock.advance(50)
    stop()
    drafts.set(KEY, 'm1', 'a')
    await clock.advance(50)
    assert.deepEqual(seen, [])
  })
})
