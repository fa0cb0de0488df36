import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Cluster, HttpAnswer } from '#test/support/cluster.ts'
import { change } from './change.ts'

const LINK = '/v1/changes/x1'
const taken = { status: 202, body: { changeId: 'x1', status: LINK } }
const pending = { status: 202, body: { changeId: 'x1', status: 'pending' } }
const done = (status: number, body: object) => ({
  status: 200,
  body: { changeId: 'x1', status, body },
})
const busy = { status: 503, body: { code: 'not-ready' } }

/** An installation that answers in that order, and then knows nothing any more. */
function answering(...answers: Pick<HttpAnswer, 'status' | 'body'>[]) {
  const calls: string[] = []
  const call: Cluster['call'] = async (_service, path, { method = 'GET' } = {}) => {
    calls.push(`${method} ${path}`)
    return { retryAfter: null, ...(answers.shift() ?? { status: 404, body: null }) }
  }
  return { calls, call }
}

const remove = (cluster: Pick<Cluster, 'call'>) =>
  change<object>(cluster, 'control-plane', '/v1/subscriptions/s1', { method: 'DELETE' })

describe('a change of a busy installation', () => {
  it('that was taken is not sent again, but followed to its outcome', async () => {
    const cluster = answering(taken, pending, busy, done(200, { id: 's1' }))
    assert.deepEqual((await remove(cluster)).body, { id: 's1' })
    const followed = Array.from({ length: 3 }, () => `GET ${LINK}`)
    assert.deepEqual(cluster.calls, ['DELETE /v1/subscriptions/s1', ...followed])
  })

  it('that nobody took is sent again', async () => {
    const cluster = answering(busy, busy, { status: 200, body: { id: 's1' } })
    assert.deepEqual((await remove(cluster)).body, { id: 's1' })
    assert.equal(cluster.calls.length, 3)
  })

  it('that is refused rejects, at once or later', async () => {
    await assert.rejects(remove(answering({ status: 403, body: { code: 'forbidden' } })), /403/)
    await assert.rejects(remove(answering(taken, done(409, { message: 'No.' }))), /409/)
    await assert.rejects(remove(answering(taken)), /404/)
  })
})
