/**
 * The embedded product under load, killed again and again: what was answered is never lost, never
 * doubled, and the files stay whole. `AMBIT_KILL_ROUNDS=200` for the long run.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Message } from '#services/client/api-mailbox.ts'
import { type Api, createApi, eventually } from '#test/support/api-caller.ts'
import { type HostProcess, startHost } from '#test/support/host-process.ts'

const ROUNDS = Number(process.env.AMBIT_KILL_ROUNDS ?? 15)
const LIVE_MS = { min: 150, max: 900 }
const LEASE_MS = 1000
const AGENT = 'worker'
const SOURCE = '/kill'

/** What the outside world was told. */
interface Ledger {
  accepted: Set<string>
  /** Sent, and not answered: may be there or not, but once at most. */
  unknown: Set<string>
  /** Messages whose completion was answered with 200. */
  done: Set<string>
  violations: string[]
}

it(`${ROUNDS} times kill -9 under load: nothing lost, nothing doubled, files whole`, async t => {
  const host = await startHost('embedded')
  t.after(() => host.stop())
  const api = createApi(host.url, host.key)
  await api.ok('PUT', `/v1/agents/${AGENT}`, { maxConcurrentLeases: 200, maxAttempts: 100 })
  const subscription = { name: 'all', agent: AGENT, instruction: 'x', on: { sources: [SOURCE] } }
  const limits = { storm: null }
  await api.ok('POST', '/v1/subscriptions', { ...subscription, limits })
  const ledger: Ledger = {
    ...{ accepted: new Set(), unknown: new Set(), done: new Set(), violations: [] },
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    await killUnderLoad(host, api, ledger)
    await host.restart()
  }
  await finish(api, ledger)
  const messages = await api.messages(AGENT)
  t.diagnostic(`${ledger.accepted.size} events accepted, ${messages.length} messages`)
  checkMessages(messages, ledger)
  assert.equal(await host.terminate(), 0, 'an orderly end')
  checkFiles(host.dataDir)
})

async function killUnderLoad(host: HostProcess, api: Api, ledger: Ledger): Promise<void> {
  const life = new AbortController()
  const loops = [1, 1, 10].map(size => produce(api, ledger, { size, life: life.signal }))
  loops.push(...['a', 'b'].map(executor => work(api, ledger, { executor, life: life.signal })))
  await sleep(LIVE_MS.min + Math.random() * (LIVE_MS.max - LIVE_MS.min))
  await host.kill9()
  life.abort()
  await Promise.all(loops)
}

async function produce(
  api: Api,
  { accepted, unknown }: Ledger,
  { size, life }: { size: number; life: AbortSignal },
): Promise<void> {
  while (!life.aborted) {
    const ids = Array.from({ length: size }, () => randomUUID())
    for (const id of ids) unknown.add(id)
    try {
      await api.publish(...ids.map(id => ({ id, source: SOURCE, type: 'load', data: { id } })))
      for (const id of ids) {
        unknown.delete(id)
        accepted.add(id)
      }
    } catch {
      await sleep(20)
    }
  }
}

async function work(
  api: Api,
  ledger: Ledger,
  { executor, life }: { executor: string; life: AbortSignal },
): Promise<void> {
  while (!life.aborted) {
    try {
      await workOnce(api, ledger, executor)
    } catch {
      await sleep(20)
    }
  }
}

async function workOnce(api: Api, ledger: Ledger, executor: string): Promise<number> {
  const options = { executor, max: 20, leaseMs: LEASE_MS, waitMs: 200 }
  const items = await api.claim(AGENT, options)
  for (const { message } of items) {
    if (ledger.done.has(message.id)) ledger.violations.push(`${message.id} came back`)
  }
  const settled = items.map(async item => {
    const { status, text } = await api.complete(item)
    if (status === 200) ledger.done.add(item.message.id)
    else if (status !== 409) ledger.violations.push(`complete: ${status} ${text.slice(0, 200)}`)
  })
  await Promise.all(settled)
  return items.length
}

/** Quiet: all that was accepted is delivered, and all that was delivered is done. */
async function finish(api: Api, ledger: Ledger): Promise<void> {
  await eventually(
    'everything done',
    async () => {
      while ((await workOnce(api, ledger, 'last')) > 0);
      const { items } = await api.ok<{ items: { messages: Record<string, number> }[] }>(
        'GET',
        '/v1/mailboxes',
      )
      const { done = 0, ...others } = items[0]?.messages ?? {}
      const open = Object.values(others).reduce((sum, each) => sum + each, 0)
      return open === 0 && done >= ledger.accepted.size ? { done } : JSON.stringify(items[0])
    },
    60_000,
  )
}

function checkMessages(messages: Message[], { accepted, unknown, violations }: Ledger): void {
  assert.deepEqual(violations, [])
  assert.equal(new Set(messages.map(({ id }) => id)).size, messages.length, 'message ids')
  const counts = new Map<string, number>()
  for (const { id } of messages.flatMap(({ events }) => events)) {
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  assert.deepEqual(
    [...accepted].filter(id => !counts.has(id)),
    [],
    'lost after a 2xx',
  )
  assert.deepEqual(
    [...counts].filter(([, count]) => count > 1),
    [],
    'in two messages',
  )
  const strangers = [...counts.keys()].filter(id => !accepted.has(id) && !unknown.has(id))
  assert.deepEqual(strangers, [], 'never sent')
}

function checkFiles(folder: string): void {
  const files = globSync('**/*.{sqlite,db}', { cwd: folder })
  assert.ok(files.length > 0, `databases in ${folder}`)
  for (const file of files) {
    const database = new DatabaseSync(join(folder, file), { readOnly: true })
    const [answer] = database.prepare('pragma integrity_check').all()
    assert.deepEqual(Object.values(answer ?? {}), ['ok'], file)
    database.close()
  }
}
