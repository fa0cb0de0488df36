import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isAmbitError } from '#kernel/errors.ts'
import { readConfiguration } from './configuration.ts'

const KEY = 'k'.repeat(32)
const DISTRIBUTED = {
  AMBIT_KAFKA_BROKERS: 'one:9092,two:9092',
  AMBIT_REDIS_URL: 'redis://localhost:6379',
  AMBIT_SECRET_KEYS: KEY,
}

/** Refused with a message that names what to look at, and shows no value of a secret. */
function assertRefused(environment: Record<string, string>, ...named: RegExp[]): void {
  assert.throws(
    () => readConfiguration(environment),
    error => {
      assert.ok(isAmbitError(error) && error.code === 'invalid', String(error))
      for (const name of named) assert.match(error.message, name)
      return true
    },
  )
}

describe('defaults', () => {
  it('with nothing set are those of one process on loopback', () => {
    const settings = readConfiguration({})
    assert.deepEqual(
      [settings.AMBIT_HOST, settings.AMBIT_PORT, settings.AMBIT_DATA_DIR, settings.AMBIT_TENANT],
      ['127.0.0.1', 7171, '.ambit', 'local'],
    )
    assert.equal(settings.AMBIT_KAFKA_BROKERS, undefined)
    assert.equal(settings.AMBIT_ALLOW_UNVERIFIED, false)
    assert.equal(settings.AMBIT_CONTINUITY_MS, 3_600_000)
    assert.deepEqual(settings.AMBIT_OUTGOING_ALLOW, [])
  })
  it('stand for variables that are set to nothing', () => {
    assert.deepEqual(
      readConfiguration({ AMBIT_PORT: '', AMBIT_REDIS_URL: '' }),
      readConfiguration({}),
    )
  })
  it('cannot be changed afterwards', () => {
    assert.ok(Object.isFrozen(readConfiguration({})))
  })
})

describe('values', () => {
  it('are read as numbers, switches and lists', () => {
    const settings = readConfiguration({
      AMBIT_PORT: '0',
      AMBIT_ALLOW_UNVERIFIED: '1',
      AMBIT_TOPICS_APPLY: 'false',
      AMBIT_OUTGOING_ALLOW: 'http://127.0.0.1:9000,https://hooks.test',
    })
    assert.equal(settings.AMBIT_PORT, 0)
    assert.deepEqual([settings.AMBIT_ALLOW_UNVERIFIED, settings.AMBIT_TOPICS_APPLY], [true, false])
    assert.deepEqual(settings.AMBIT_OUTGOING_ALLOW, ['http://127.0.0.1:9000', 'https://hooks.test'])
  })
  it('outside their range or of another kind name the variable', () => {
    for (const [name, value] of Object.entries({
      AMBIT_PORT: '65536',
      AMBIT_PARTITIONS: '0',
      AMBIT_REPLICATION: '1.5',
      AMBIT_CONTINUITY_MS: 'soon',
      AMBIT_ALLOW_UNVERIFIED: 'yes',
      AMBIT_LOG_LEVEL: 'loud',
    })) {
      assertRefused({ [name]: value }, new RegExp(name))
    }
  })
  it('of AMBIT_OUTGOING_ALLOW are origins and nothing more', () => {
    const wrong = ['127.0.0.1:9000', 'http://a.test/', 'http://a.test/path', 'ftp://a.test', '*']
    for (const value of [...wrong, 'HTTP://a.test', 'https://a.test:443', 'https://u@a.test']) {
      assertRefused({ AMBIT_OUTGOING_ALLOW: value }, /AMBIT_OUTGOING_ALLOW/, /origin/)
    }
  })
})

describe('unknown settings', () => {
  it('stop the start, all of them at once', () => {
    assertRefused({ AMBIT_PROT: '1', AMBIT_hosts: 'x' }, /AMBIT_PROT/, /AMBIT_hosts/)
    assertRefused({ AMBIT_constructor: 'x' }, /AMBIT_constructor/)
  })
  it('of tools around the product, and of others, are left alone', () => {
    const environment = { AMBIT_URL: 'x', AMBIT_KEY: 'x', AMBIT_INFRA_X: 'x', PATH: '/bin' }
    assert.deepEqual(readConfiguration(environment), readConfiguration({}))
  })
})

describe('settings that belong together', () => {
  it('are accepted together', () => {
    assert.equal(readConfiguration(DISTRIBUTED).AMBIT_KAFKA_BROKERS, 'one:9092,two:9092')
  })
  it('contradict each other alone', () => {
    const { AMBIT_KAFKA_BROKERS, AMBIT_REDIS_URL } = DISTRIBUTED
    assertRefused({ AMBIT_KAFKA_BROKERS, AMBIT_SECRET_KEYS: KEY }, /AMBIT_REDIS_URL/)
    assertRefused({ AMBIT_REDIS_URL }, /AMBIT_KAFKA_BROKERS/)
    assertRefused({ AMBIT_KAFKA_BROKERS, AMBIT_REDIS_URL }, /AMBIT_SECRET_KEYS/)
    assertRefused({ AMBIT_SCHEMA_REGISTRY_URL: 'http://r' }, /AMBIT_KAFKA_BROKERS/)
    assertRefused({ AMBIT_OIDC_ISSUER: 'https://i' }, /AMBIT_OIDC_/)
    assertRefused({ AMBIT_OIDC_ISSUER: 'https://i', AMBIT_OIDC_AUDIENCE: 'a' }, /JWKS/)
    for (const name of ['AMBIT_KAFKA', 'AMBIT_SCHEMA_REGISTRY']) {
      assertRefused({ ...DISTRIBUTED, [`${name}_USERNAME`]: 'u' }, new RegExp(`${name}_PASSWORD`))
      assertRefused({ ...DISTRIBUTED, [`${name}_PASSWORD`]: 'p' }, new RegExp(`${name}_USERNAME`))
    }
  })
})

describe('secrets', () => {
  it('that are too short stop the start', () => {
    assertRefused({ AMBIT_API_KEY: 'k'.repeat(15) }, /AMBIT_API_KEY/)
    assert.ok(readConfiguration({ AMBIT_API_KEY: 'k'.repeat(16) }))
    assertRefused({ AMBIT_SECRET_KEYS: 'k'.repeat(31) }, /AMBIT_SECRET_KEYS/, /32/)
    assertRefused({ AMBIT_SECRET_KEYS: `${KEY},short` }, /AMBIT_SECRET_KEYS/, /32/)
    assertRefused({ AMBIT_SECRET_KEYS: `${KEY},` }, /AMBIT_SECRET_KEYS/, /32/)
    assert.ok(readConfiguration({ AMBIT_SECRET_KEYS: `${KEY},${'n'.repeat(40)}` }))
  })
  it('are in no message', () => {
    for (const name of ['AMBIT_API_KEY', 'AMBIT_SECRET_KEYS']) {
      assert.throws(
        () => readConfiguration({ [name]: 'hunter2' }),
        error => isAmbitError(error) && !error.message.includes('hunter2'),
      )
    }
  })
})
