import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { type CliSurroundings, callCli } from '#test/support/cli-call.ts'
import { type ScriptedServer, scriptedServer } from '#test/support/scripted-server.ts'
import { EXIT } from '../exit-codes.ts'

let server: ScriptedServer
afterEach(() => server.close())

async function call(argv: string[], body: object, surroundings: CliSurroundings = {}) {
  server = await scriptedServer(() => ({ body }))
  return callCli([...argv, '--url', server.url], surroundings)
}
const asked = () => server.requests.map(({ method, path }) => `${method} ${path}`)

describe('ambit calendar', () => {
  it('puts a file as it is and says what became of it', async () => {
    const change = {
      objects: 2,
      changed: 1,
      removed: 0,
      skipped: [{ uid: 'x', reason: 'bad-time' }],
    }
    const { exit, stdout, stderr } = await call(
      ['calendar', 'put', 'team', 'team.ics', '--zone', 'Europe/Madrid'],
      change,
      { files: { 'team.ics': 'BEGIN:VCALENDAR' } },
    )
    assert.equal(exit, EXIT.ok)
    assert.equal(stdout.trim(), 'calendar team: 2 objects, 1 changed, 0 removed')
    assert.match(stderr, /x was left out: bad-time/)
    const [request] = server.requests
    assert.deepEqual(asked(), ['PUT /v1/calendars/team'])
    assert.equal(request?.headers['content-type'], 'text/calendar')
    assert.deepEqual(request?.query, { zone: 'Europe/Madrid' })
  })
  it('follows an address', async () => {
    const url = 'webcal://example.com/a.ics'
    await call(['calendar', 'put', 'team', url, '--every', '60000'], { objects: 0 })
    assert.deepEqual(server.requests[0]?.body, { url, everyMs: 60_000 })
  })
  it('a file that is not there changes nothing', async () => {
    const { exit } = await call(['calendar', 'put', 'team', 'none.ics'], {})
    assert.equal(exit, EXIT.usage)
    assert.deepEqual(asked(), [])
  })
  it('lists calendars', async () => {
    const items = [{ name: 'team', kind: 'local', objects: 2 }]
    const { stdout } = await call(['calendar', 'get'], { items, next: null })
    assert.match(stdout, /^NAME .*\nteam {2}local {2}2 /)
  })
})
