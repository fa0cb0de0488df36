/** The examples of docs/agents.md, taken from the page as they stand there and run. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Tool } from '#services/agent/tools/tool.ts'
import type { Message } from '#services/client/api.ts'
import { type Api, createApi, eventually } from '#test/support/api-caller.ts'
import { type HostProcess, startHost } from '#test/support/host-process.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PAGE = readFileSync(join(ROOT, 'docs/agents.md'), 'utf8')
const TOOLS = ['bash', 'curl', 'jq']
const missing = TOOLS.filter(name => spawnSync(name, ['--version']).error)
const skip = missing.length > 0 ? `needs ${missing.join(' and ')}` : false

/** The first block of that language below a heading. */
function exampleOf(heading: string, language: string): string {
  const below = PAGE.split(`\n${heading}\n`)[1] ?? ''
  const block = below.split(`\n\`\`\`${language}\n`)[1]?.split('\n```')[0]
  assert.ok(block, `docs/agents.md has a ${language} example below ${heading}`)
  return block
}

let host: HostProcess
let api: Api
let folder: string
let subscription: string
/** Secret of the key that the page makes. */
let key = ''

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'ambit-guide-'))
  host = await startHost('embedded', { env: { AGENT_ENABLED: 'false' } })
  api = createApi(host.url, host.key)
  subscription = await subscribe('triage', 'com.shop.ticket')
  await subscribe('archive', 'com.team.triaged')
})
after(async () => {
  await host.stop()
  rmSync(folder, { recursive: true, force: true })
})

async function subscribe(agent: string, type: string): Promise<string> {
  const { id } = await api.ok<{ id: string }>('POST', '/v1/subscriptions', {
    ...{ name: type, agent, owner: 'user:ana', instruction: 'Look.', on: { types: [type] } },
  })
  return id
}

async function wake(): Promise<string> {
  const [id = ''] = await api.publish({ source: '/shop', type: 'com.shop.ticket' })
  const { messageId } = await api.decision(subscription, id, 'delivered')
  assert.ok(messageId)
  return messageId
}

const messageWhenDone = (id: string) =>
  eventually('the message to be done', async () => {
    const { json } = await api.call('GET', `/v1/messages/${id}`)
    return json?.state === 'done' ? (json as Message) : json?.state
  })

/** Runs a program and resolves with what it printed; it is told to stop once `until` resolves. */
async function run(command: string[], env: object, until?: Promise<unknown>): Promise<string> {
  const [program = '', ...args] = command
  const child = spawn(program, args, { env: { ...process.env, AMBIT: host.url, ...env } })
  let text = ''
  child.stdout.on('data', chunk => (text += chunk))
  child.stderr.on('data', chunk => (text += chunk))
  const ended = new Promise(resolve => child.once('close', resolve))
  until?.finally(() => child.kill()).catch(() => {})
  assert.equal(await ended, 0, text)
  return text
}

const shell = (script: string, env: object) => run(['bash', '-euc', script], env)

describe("the page's own executor", { skip }, () => {
  it('gets a key that the page makes', async () => {
    const script = exampleOf('## Connect your own executor', 'sh')
    const printed = await shell(`${script}\necho "$TRIAGE_KEY"`, { ADMIN: host.key })
    key = printed.trim()
    assert.match(key, /^\S{20,}$/)
  })

  it('with curl alone renews, authorizes, emits under its lease, completes', async () => {
    const id = await wake()
    const printed = await shell(exampleOf('### With curl alone', 'sh'), { TRIAGE_KEY: key })
    assert.match(printed, /"allowed":true/)
    assert.doesNotMatch(printed, /"status":[45]\d\d/)
    const { run: ended } = await messageWhenDone(id)
    assert.partialDeepStrictEqual(ended, { ok: true, stopReason: 'final-message' })
    const [item] = await api.claim('archive')
    assert.partialDeepStrictEqual(item?.message.events, [{ id: `${id}/done`, source: '/triage' }])
    assert.partialDeepStrictEqual(item?.message.lineage, [{ agent: 'triage', message: id }])
  })

  it('in TypeScript drafts, asks before it replies, and completes', async () => {
    const helpers = [
      'const stop = new AbortController()',
      "process.on('SIGTERM', () => stop.abort())",
      "const draft = async (instruction, { length }) => instruction + ' ' + length",
      "const reply = async (answer, { fence, key }) => console.log('replied', answer, fence, key)",
    ]
    const script = exampleOf('### In TypeScript', 'ts')
      .replace('#services/', pathToFileURL(join(ROOT, 'services/')).href)
      .replace('http://127.0.0.1:7171', host.url)
    const path = join(folder, 'executor.ts')
    writeFileSync(path, [...helpers, script].join('\n'))
    const id = await wake()
    const done = messageWhenDone(id)
    const printed = await run([process.execPath, path], { TRIAGE_KEY: key }, done)
    assert.match(printed, new RegExp(`replied Look\\. 1 \\d+ ${id}/reply`))
    const { run: ended } = await done
    assert.partialDeepStrictEqual(ended, { ok: true, output: 'Look. 1' })
  })
})

describe("the page's own tool", () => {
  it('is a tool that tells whom it is about, and posts what it was given', async () => {
    const own = pathToFileURL(join(ROOT, 'services/agent/tools/')).href
    const path = join(folder, 'order-badge.ts')
    writeFileSync(path, exampleOf('## Write a tool', 'ts').replace("'./", `'${own}`))
    const { orderBadge } = (await import(pathToFileURL(path).href)) as {
      orderBadge(url: string): Tool
    }
    const tool = orderBadge('http://badges.test/')
    assert.equal(tool.name, 'order_badge_async')
    assert.ok(tool.schema.safeParse({ person: 'Ana' }).success)
    assert.ok(!tool.schema.safeParse({ person: 'Ana', and: 'more' }).success)
    const request = tool.operation?.request({ person: 'Ana' })
    assert.partialDeepStrictEqual(request, { method: 'POST', json: { person: 'Ana' } })
    assert.equal(tool.invalid?.(['person'], 'en'), 'Whose badge shall it be?')
  })
})
