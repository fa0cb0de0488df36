import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { callCli } from '#test/support/cli-call.ts'
import {
  problem,
  type Script,
  type ScriptedServer,
  scriptedServer,
} from '#test/support/scripted-server.ts'
import { COMMANDS } from './commands.ts'
import { EXIT } from './exit-codes.ts'

let server: ScriptedServer | undefined
const open: ScriptedServer[] = []
afterEach(() => Promise.all(open.splice(0).map(each => each.close())))

async function serve(script: Script): Promise<string[]> {
  server = await scriptedServer(script)
  open.push(server)
  return ['--url', server.url]
}

describe('the command line', () => {
  it('shows every command in its help, and the exit codes', async () => {
    const { exit, stdout } = await callCli(['--help'])
    assert.equal(exit, EXIT.ok)
    for (const name of Object.keys(COMMANDS)) assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
    assert.match(stdout, /4 not found/)
  })

  it('has help for every command, without asking anybody', async () => {
    for (const name of Object.keys(COMMANDS)) {
      const { exit, stdout, stderr } = await callCli([...name.split(' '), '--help'])
      assert.deepEqual({ exit, stderr }, { exit: EXIT.ok, stderr: '' })
      assert.match(stdout, new RegExp(`Usage: ambit ${name}`))
    }
  })

  it('shows the help and answers a usage exit without a command', async () => {
    assert.equal((await callCli([])).exit, EXIT.usage)
  })

  for (const [what, argv, expected] of [
    ['an unknown command', ['frobnicate'], /no command frobnicate/],
    ['a group without an action', ['mailbox'], /list, claim, complete/],
    ['an unknown option', ['pause', 's1', '--force'], /Unknown option '--force'/],
    ['an option without its value', ['pause', 's1', '--reason'], /argument missing/],
    ['missing arguments', ['explain', '/shop'], /ambit explain SOURCE ID SUBSCRIPTION/],
    ['too many arguments', ['trace', 'a', 'b', 'c'], /3 arguments/],
    ['a missing option', ['pause', 's1'], /--reason is needed(.|\n)*do +Add --reason/],
    ['a number that is none', ['get', 'agents', '--limit', 'many'], /whole number/],
    ['an instant that is none', ['pause', 's', '--reason', 'r', '--until', 'soon'], /instant/],
  ] as const) {
    it(`refuses ${what} with the usage exit`, async () => {
      const { exit, stdout, stderr } = await callCli(argv)
      assert.equal(exit, EXIT.usage)
      assert.equal(stdout, '')
      assert.match(stderr, expected)
    })
  }
})

describe('a failure', () => {
  it('of the connection answers 3 and says what to do', async () => {
    const url = await serve(() => 'cut')
    const { exit, stderr } = await callCli(['get', 'agents', ...url])
    assert.equal(exit, EXIT.unreachable)
    assert.match(stderr, /do +Start Ambit with `ambit up`/)
  })

  it('to find an object answers 4', async () => {
    const url = await serve(() => problem(404, 'not-found'))
    assert.equal((await callCli(['describe', 'agent', 'a', ...url])).exit, EXIT.notFound)
  })

  it('of a refusal answers 1, with what was expected, what came and where', async () => {
    const facts = { pointer: '/limits', expected: '>= 60000', actual: '10' }
    const url = await serve(() => problem(422, 'out-of-bounds', facts))
    const { exit, stderr } = await callCli(['resume', 's1', ...url])
    assert.equal(exit, EXIT.failed)
    assert.match(stderr, /at +\/limits\n +expected +>= 60000\n +came +10/)
  })

  it('is JSON on stderr for programs', async () => {
    const url = await serve(() => problem(409, 'stale-lease'))
    const argv = ['mailbox', 'complete', 'm1', '--handle', 'h', '--json', ...url]
    const { exit, stdout, stderr } = await callCli(argv)
    assert.deepEqual({ exit, stdout }, { exit: EXIT.failed, stdout: '' })
    assert.equal(JSON.parse(stderr).error.code, 'stale-lease')
  })
})

describe('the connection', () => {
  const keySent = async (argv: string[], env: Record<string, string>) => {
    const url = await serve(() => ({ body: { items: [] } }))
    const files = { '.ambit/api-key': 'kept-key\n' }
    await callCli(['get', 'agents', ...url, ...argv], { env, files })
    return server?.requests.at(-1)?.headers.authorization
  }

  it('takes its key from the option, the environment, then the local file', async () => {
    const env = { AMBIT_API_KEY: 'env-key' }
    assert.equal(await keySent(['--key', 'flag-key'], env), 'Bearer flag-key')
    assert.equal(await keySent([], env), 'Bearer env-key')
    assert.equal(await keySent([], {}), 'Bearer kept-key')
  })

  it('never sends the local key file to another machine', async () => {
    const asked: (string | undefined)[] = []
    const files = { '.ambit/api-key': 'kept-key' }
    await callCli(['get', 'agents', '--url', 'http://ambit.example'], {
      files,
      createClient: options => {
        asked.push(options.key)
        throw new Error('not in this test')
      },
    })
    assert.deepEqual(asked, [undefined])
  })

  it('takes its address from the environment', async () => {
    await serve(() => ({ body: { items: [] } }))
    const { exit } = await callCli(['get', 'agents'], { env: { AMBIT_URL: server?.url } })
    assert.equal(exit, EXIT.ok)
  })
})

describe('the output', () => {
  // An event's text is anybody's: it must not move the cursor or answer for the terminal.
  it('shows control characters of other people instead of sending them', async () => {
    const name = 'evil\u001b[2J\u009b31m\u202e'
    const url = await serve(() => ({ body: { items: [{ id: 'a', name }] } }))
    const { stdout } = await callCli(['get', 'agents', ...url])
    assert.match(stdout, /evil\\u001b\[2J\\u009b31m\\u202e/)
    const json = await callCli(['get', 'agents', '--json', ...url])
    for (const raw of ['\u001b', '\u009b', '\u202e']) assert.ok(!json.stdout.includes(raw))
    assert.equal(JSON.parse(json.stdout).items[0].name, name)
  })
})
