import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, it } from 'node:test'
import { createMockChat } from '#kernel/adapters/mock-model/mock-chat.ts'
import { readConfiguration } from '#kernel/host/configuration.ts'
import { type Started, startProcess } from '#kernel/host/run-process.ts'
import { type Logger, silentLogger } from '#kernel/ports/logger.ts'
import { type ScriptedServer, scriptedServer } from '#test/support/scripted-server.ts'
import { startAgent } from './service.ts'

const CLAIM = 'POST /v1/mailboxes/assistant/claim'

interface Scene {
  host: Started
  mailbox: ScriptedServer
  /** Gives the process its operations, or refuses them. */
  owning: PromiseWithResolvers<{ stop(): Promise<void> }>
  /** The first error that is logged. */
  logged: Promise<{ fields: object; message: string }>
}

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** A whole process whose log does not say yet which operations are its own. */
async function begin(): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'ambit-agent-'))
  open.push(() => rmSync(folder, { recursive: true, force: true }))
  const mailbox = await scriptedServer(({ path }) =>
    path.endsWith('/claim') ? 'hang' : { body: {} },
  )
  open.push(mailbox.close)
  const owning: Scene['owning'] = Promise.withResolvers()
  const { promise: logged, resolve: error } = Promise.withResolvers<Awaited<Scene['logged']>>()
  const logger: Logger = {
    ...silentLogger,
    error: (fields, message) => error({ fields, message }),
  }
  const configuration = readConfiguration({
    ...{ AMBIT_DATA_DIR: folder, AMBIT_PORT: '0', AMBIT_LOG_LEVEL: 'silent' },
  })
  const host = await startProcess(configuration, ({ app, platform }) => {
    const log = { ...platform.log, consume: () => owning.promise }
    return startAgent(
      app,
      { ...platform, log, logger },
      {
        environment: { AGENT_API_URL: mailbox.url, AGENT_MODEL_MODE: 'mock' },
        openModel: () => createMockChat(),
      },
    )
  })
  return { host, mailbox, owning, logged }
}

describe('an agent that is stopped while its operations are not its own yet', () => {
  it('claims no more, and begins no operations afterwards', { timeout: 10_000 }, async () => {
    const { host, mailbox, owning } = await begin()
    const claim = await mailbox.asked(CLAIM)
    const stopping = host.stop()
    await claim.gone
    const ended: string[] = []
    owning.resolve({ stop: async () => void ended.push('operations') })
    await stopping
    assert.deepEqual(ended, ['operations'])
  })

  it('says that they never will be, and is stopped all the same', { timeout: 10_000 }, async () => {
    const { host, mailbox, owning, logged } = await begin()
    const claim = await mailbox.asked(CLAIM)
    owning.reject(new Error('the log is away'))
    const { fields, message } = await logged
    assert.match(message, /takes up no operations/)
    assert.match(String((fields as { err: Error }).err), /the log is away/)
    await host.stop()
    await claim.gone
  })
})
