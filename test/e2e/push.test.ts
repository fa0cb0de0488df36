/** An executor that is told instead of asking, against the whole product in this process. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { readConfiguration } from '#kernel/host/configuration.ts'
import { type Started, startProcess } from '#kernel/host/run-process.ts'
import { startAllServices } from '#services/embedded/all-services.ts'
import { type Api, createApi } from '#test/support/api-caller.ts'
import { type ScriptedServer, scriptedServer } from '#test/support/scripted-server.ts'
import { createScene } from './suite/scene.ts'

describe('push to executors', () => {
  let folder: string
  let receiver: ScriptedServer
  let host: Started
  let api: Api

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'ambit-push-'))
    receiver = await scriptedServer(() => ({ status: 204 }))
    const configuration = readConfiguration({
      AMBIT_DATA_DIR: folder,
      AMBIT_PORT: '0',
      AMBIT_LOG_LEVEL: 'silent',
      AMBIT_OUTGOING_ALLOW: receiver.url,
    })
    host = await startProcess(configuration, startAllServices)
    api = createApi(host.url, host.platform.adminKey ?? '')
  })
  after(async () => {
    await host.stop()
    await receiver.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('a queued message nudges the executor, whose claim finds it', async () => {
    const scene = createScene(api, 'push')
    await api.ok('PUT', `/v1/agents/${scene.agent}`, { push: { url: `${receiver.url}/wake` } })
    await scene.subscribe()
    const event = await scene.send({ data: { secret: 'inside' } })
    const nudge = await receiver.asked('POST /wake')
    assert.deepEqual(nudge.body, { agent: scene.agent, tenant: 'local' })
    assert.equal(nudge.headers.authorization, undefined)
    const item = await scene.take({ waitMs: 0 })
    assert.equal(item.message.events[0]?.id, event)
  })

  it('an address that leads inside is refused when the agent is described', async () => {
    for (const [url, word] of [
      ['https://127.0.0.1/wake', 'address-refused'],
      ['https://169.254.169.254/latest/meta-data/', 'address-refused'],
      ['http://93.184.215.14/wake', 'not-https'],
      ['https://me:secret@93.184.215.14/wake', 'credentials-in-url'],
    ]) {
      const answer = await api.call('PUT', '/v1/agents/inward', { body: { push: { url } } })
      assert.equal(answer.status, 422, answer.text)
      assert.deepEqual([answer.json.pointer, answer.json.actual], ['/push/url', word])
      assert.ok(!answer.text.includes('secret'), 'nothing of the address comes back')
    }
    assert.equal((await api.call('GET', '/v1/agents/inward')).status, 404)
  })
})
