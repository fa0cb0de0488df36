import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callCli } from '#test/support/cli-call.ts'
import { problem, scriptedServer } from '#test/support/scripted-server.ts'
import { EXIT } from '../exit-codes.ts'

const refusal = problem(400, 'bad-request', { pointer: '/events' })

test('a trial without events says how to give them', async t => {
  const server = await scriptedServer(() => refusal)
  t.after(() => server.close())
  const { exit, stderr } = await callCli(['test', 's1', '--url', server.url])
  assert.equal(exit, EXIT.usage)
  assert.match(stderr, /-e FILE/)
})

test('events that are refused stay the refusal of the API', async t => {
  const server = await scriptedServer(() => refusal)
  t.after(() => server.close())
  const argv = ['test', 's1', '-e', 'e.json', '--url', server.url]
  const { exit, stderr } = await callCli(argv, { files: { 'e.json': '[]' } })
  assert.equal(exit, EXIT.failed)
  assert.match(stderr, /\/events/)
})
