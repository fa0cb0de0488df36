import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { callCli } from '#test/support/cli-call.ts'
import { problem, type Script, scriptedServer } from '#test/support/scripted-server.ts'
import type { TopicSettings, TopicStep } from '../command.ts'
import { EXIT } from '../exit-codes.ts'

async function withServer<T>(script: Script, work: (url: string) => Promise<T>): Promise<T> {
  const server = await scriptedServer(script)
  try {
    return await work(server.url)
  } finally {
    await server.close()
  }
}

/** Kafka with the given differences; keeps what it was asked with. */
function kafka(steps: TopicStep[]) {
  const asked: TopicSettings[] = []
  const done: string[] = []
  const infra = {
    redis: async () => {},
    topics: (settings: TopicSettings) => {
      asked.push(settings)
      const work = (name: string) => async () => {
        done.push(name)
        return steps
      }
      return { diff: work('diff'), apply: work('apply'), stop: async () => void done.push('stop') }
    },
  }
  return { asked, done, infra }
}

describe('ambit topics', () => {
  const env = { AMBIT_KAFKA_BROKERS: 'k1:9092,k2:9092', AMBIT_PARTITIONS: '24' }

  it('shows each setting that would change, and closes the connection', async () => {
    const step = {
      topic: 'ambit.audit',
      was: { 'retention.ms': '1' },
      want: { 'retention.ms': '-1' },
    }
    const { infra, asked, done } = kafka([{ ...step, action: 'alter' }])
    const argv = ['topics', 'diff', '--prefix', 'test.']
    const { exit, stdout } = await callCli(argv, { env, infra })
    assert.equal(exit, EXIT.ok)
    assert.match(stdout, /alter +ambit.audit +retention.ms +1 +-1/)
    assert.deepEqual(done, ['diff', 'stop'])
    const settings = { prefix: 'test.', partitions: 24, replicationFactor: 1, tenants: ['local'] }
    assert.deepEqual(asked, [{ brokers: ['k1:9092', 'k2:9092'], ...settings }])
  })

  it('answers 1 when a difference cannot be applied', async () => {
    const { infra } = kafka([
      {
        topic: 'ambit.audit',
        action: 'refuse',
        was: { partitions: '1' },
        want: { partitions: '2' },
      },
    ])
    assert.equal((await callCli(['topics', 'diff'], { env, infra })).exit, EXIT.failed)
  })

  it('says which broker it needs', async () => {
    const { exit, stderr } = await callCli(['topics', 'apply'])
    assert.equal(exit, EXIT.usage)
    assert.match(stderr, /AMBIT_KAFKA_BROKERS/)
  })
})

describe('ambit doctor', () => {
  const well: Script = ({ path }) =>
    path === '/config' ? { body: { compatibilityLevel: 'BACKWARD' } } : { body: {} }

  it('answers 0 when everything that is configured is well', () =>
    withServer(well, async url => {
      const env = {
        ...{ AMBIT_API_KEY: 'a-key-of-sixteen', AMBIT_KAFKA_BROKERS: 'k:9092' },
        ...{ AMBIT_REDIS_URL: 'redis://r', AMBIT_SCHEMA_REGISTRY_URL: url },
      }
      const { exit, stdout } = await callCli(['doctor', '--json', '--url', url], {
        env,
        infra: kafka([]).infra,
      })
      const states = JSON.parse(stdout).items as { check: string; state: string }[]
      const notWell = states.filter(({ state }) => state === 'failed')
      assert.deepEqual({ exit, notWell }, { exit: EXIT.ok, notWell: [] })
      const named = states.filter(({ state }) => state === 'ok').map(({ check }) => check)
      for (const check of ['kafka', 'redis', 'schema registry']) assert.ok(named.includes(check))
    }))

  it('answers 3 and still checks the rest when the API is away', async () => {
    const url = await withServer(
      () => 'hang',
      async address => address,
    )
    const { exit, stdout } = await callCli(['doctor', '--url', url])
    assert.equal(exit, EXIT.unreachable)
    assert.match(stdout, /api: no answer from .*\n +do +Start it with `ambit up`/)
    assert.match(stdout, /runtime +ok/)
  })

  it('says what a service that is not ready waits for', () =>
    withServer(
      ({ path }) =>
        path === '/readyz'
          ? { status: 503, body: { status: 'waiting', waiting: ['waiting for policy'] } }
          : { body: {} },
      async url => {
        const { exit, stdout } = await callCli(['doctor', '--url', url])
        assert.equal(exit, EXIT.failed)
        assert.match(stdout, /readiness +failed +waits for: waiting for policy/)
      },
    ))

  it('says where a refused key came from, and never the key', () =>
    withServer(
      ({ path }) => (path === '/v1/system' ? problem(401, 'unauthenticated') : { body: {} }),
      async url => {
        const { stdout } = await callCli(['doctor', '--url', url, '--key', 'secret-of-mine'])
        assert.match(stdout, /\(key: --key\)/)
        assert.ok(!stdout.includes('secret-of-mine'))
      },
    ))

  it('has a line for each service, and says what to do where one is behind', () => {
    const services = [
      { service: 'scheduler', state: 'behind', lagMs: 42_000, schedules: 3, overdue: 1 },
      { service: 'mcp-poller', state: 'ok', lagMs: 0, observations: 2 },
    ]
    return withServer(
      ({ path }) => ({ body: path === '/v1/system' ? { services } : {} }),
      async url => {
        const { exit, stdout } = await callCli(['doctor', '--url', url])
        assert.equal(exit, EXIT.ok)
        assert.match(stdout, /scheduler +warning +behind, 42 s late: schedules 3, overdue 1/)
        assert.match(stdout, /scheduler: .*\n +do +Is the scheduler running\?/)
        assert.match(stdout, /mcp-poller +ok +observations 2/)
      },
    )
  })

  it('names what is broken of Redis without its password', async () => {
    const redis = async () => {
      throw new Error('Redis would evict keys')
    }
    const { stdout } = await callCli(['doctor', '--url', 'http://127.0.0.1:1'], {
      env: { AMBIT_REDIS_URL: 'redis://:hidden@r:6379' },
      infra: { ...kafka([]).infra, redis },
    })
    assert.match(stdout, /redis: Redis would evict keys/)
    assert.ok(!stdout.includes('hidden'))
  })
})

describe('ambit up', () => {
  it('hands its options to the embedded host and answers its end', async () => {
    const started: (readonly string[])[] = []
    const startEmbedded = async (args: readonly string[]) => started.push(args) && 1
    const argv = ['up', '--empty', '--port', '0', '--data', 'dir']
    assert.equal((await callCli(argv, { startEmbedded })).exit, EXIT.failed)
    assert.deepEqual(started, [['--empty', '--port', '0', '--data', 'dir']])
  })
})

describe('ambit completion', () => {
  it('completes commands, actions and options in bash', async t => {
    if (spawnSync('bash', ['--version']).error) return t.skip('bash is needed')
    const { stdout } = await callCli(['completion', 'bash'])
    const complete = (...words: string[]) => {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: this is bash.
      const call = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ambit; echo "${COMPREPLY[@]}"'
      const script = stdout + call
      const { stdout: replies } = spawnSync('bash', ['-c', script, 'bash', ...words])
      return String(replies).trim().split(' ')
    }
    assert.deepEqual(complete('ambit', 'pub'), ['publish'])
    assert.deepEqual(complete('ambit', 'deadletter', ''), ['list', 'redrive'])
    assert.deepEqual(complete('ambit', 'mailbox', 'fail', '--perm'), ['--permanent'])
    assert.deepEqual(complete('ambit', 'get', 'subs'), ['subscriptions'])
  })

  it('refuses another shell', async () => {
    assert.equal((await callCli(['completion', 'fish'])).exit, EXIT.usage)
  })
})
