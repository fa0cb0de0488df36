import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseManifest } from './manifest.ts'

const HIDDEN = `
kind: Source
name: s
spec: { kind: webhook, verification: { scheme: github, secret: (stored encrypted) } }
`

const HIDDEN_AUTH = `
kind: Connector
name: c
spec: { transport: http, auth: { scheme: bearer, secret: (stored encrypted) } }
`

const parse = (text: string) => parseManifest(text, 'file.yaml')

describe('a manifest', () => {
  it('holds several documents of every kind', () => {
    const manifest = parse(`
kind: Policy
spec: { zone: Europe/Madrid }
---
kind: Agent
name: triage
spec: { maxConcurrentLeases: 4 }
---
kind: Source
name: github
spec: { kind: webhook, verification: { scheme: github, secret: env:GH } }
---
kind: Subscription
name: refunds
spec: { agent: triage, instruction: Read it., on: {} }
---
`)
    assert.deepEqual(manifest.policy, { zone: 'Europe/Madrid' })
    assert.deepEqual(manifest.agents, [{ name: 'triage', spec: { maxConcurrentLeases: 4 } }])
    assert.equal(manifest.sources[0]?.name, 'github')
    assert.deepEqual(manifest.subscriptions, [
      { name: 'refunds', agent: 'triage', instruction: 'Read it.', on: {} },
    ])
  })

  for (const [what, text, message, expected] of [
    [
      'an unknown kind',
      'kind: Agent\nname: a\nspec: {}\n---\nkind: Foo',
      /line 4/,
      /Policy, Agent/,
    ],
    ['a missing name', 'kind: Agent\nspec: {}', /cannot be applied/, /name/],
    ['a missing spec', 'kind: Agent\nname: a', /cannot be applied/, /spec/],
    ['a member outside spec', 'kind: Agent\nname: a\nspec: {}\nagent: b', /cannot/, /only/],
    ['a list', '- a\n- b', /cannot be applied/, /kind/],
    ['broken YAML', 'kind: [', /file.yaml, line/, /YAML/],
    ['a secret that an export hid', HIDDEN, /secret of source s/, /env:NAME/],
    ['a credential that an export hid', HIDDEN_AUTH, /secret of connector c/, /env:NAME/],
    ['aliases that multiply', bomb(), /file.yaml/, /.*/],
  ] as const) {
    it(`refuses ${what}, and says where it stands`, () => {
      assert.throws(
        () => parse(text),
        (error: Error & { expected?: string }) => {
          assert.equal(error.name, 'UsageError')
          assert.match(error.message, message)
          assert.match(error.expected ?? '', expected)
          return true
        },
      )
    })
  }

  it('refuses an object that stands there twice', () => {
    const twice = 'kind: Agent\nname: a\nspec: {}\n---\nkind: Agent\nname: a\nspec: {}'
    assert.throws(() => parse(twice), /Agent a stands there twice/)
  })
})

function bomb(): string {
  const levels = Array.from({ length: 12 }, (_, n) => {
    const inner =
      n === 0
        ? '"x"'
        : Array(9)
            .fill(`*l${n - 1}`)
            .join(', ')
    return `  l${n}: &l${n} [${inner}]`
  })
  return `kind: Agent\nname: a\nspec:\n${levels.join('\n')}`
}
