import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatWorld } from '#test/support/chat-world.ts'

/** Looks at the session's log so far: each of them waits until all of the log has been read. */
function countLooks({ store, operations }: ReturnType<typeof chatWorld>): { looks: number } {
  const count = { looks: 0 }
  const { history } = store
  const { ofSession } = operations
  store.history = key => {
    count.looks += 1
    return history(key)
  }
  operations.ofSession = key => {
    count.looks += 1
    return ofSession(key)
  }
  return count
}

describe('a turn of the agent', () => {
  it('looks at the log four times where no operation waits to be told', async () => {
    const chat = chatWorld()
    const count = countLooks(chat)
    chat.say('Que es un webhook?')
    await chat.work()
    assert.match(chat.said().at(-1) ?? '', /^Un webhook es/)
    assert.equal(count.looks, 4)
  })

  it('that an event opened marks what was told before it, and tells nothing', async () => {
    const chat = chatWorld()
    chat.say('Dale acceso a ana@example.com a Notion con rol editor')
    await chat.work()
    const { change } = chat.operations
    await chat.answer(200)
    chat.operations.change = async () => {
      throw new Error('crashed')
    }
    const [closing] = chat.queue.splice(0)
    assert.ok(closing)
    assert.ok((await chat.workOne(closing)).error)
    chat.operations.change = change
    assert.deepEqual(chat.states(), ['queued_for_sync'])
    const told = () => chat.said().filter(text => text.startsWith('Listo')).length
    assert.equal(told(), 1)
    const woken = { ...closing, id: 'woken', kind: 'activation', instruction: 'Look.', input: {} }
    assert.equal((await chat.workOne(woken)).result?.ok, true)
    assert.deepEqual(chat.states(), ['proactively_notified'])
    assert.equal(told(), 1)
  })
})
