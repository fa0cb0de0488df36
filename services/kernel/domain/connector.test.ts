import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { argumentsProblem, connectorSchema, isConnectorEntitled, pinOf } from './connector.ts'
import { parseWith } from './parse-with.ts'

const http = { transport: 'http', url: 'https://mcp.example.com/mcp' }

describe('a connector', () => {
  it('has bounds for every operation, also where nobody wrote them', () => {
    const { allow } = parseWith(connectorSchema, { ...http, allow: [{ operation: 'list_items' }] })
    const bounds = { maxItems: 100, maxBytes: 262_144, timeoutMs: 10_000 }
    assert.deepEqual(allow, [{ operation: 'list_items', ...bounds }])
  })
  it('keeps no credential for a local command', () => {
    const auth = { scheme: 'bearer', secret: 'x' }
    assert.throws(() =>
      parseWith(connectorSchema, { transport: 'stdio', command: 'tickets', auth, allow: [] }),
    )
  })
  it('sets no header that the protocol sets', () => {
    for (const header of ['Host', 'mcp-session-id', 'Content-Type']) {
      const auth = { scheme: 'header', secret: 'x', header }
      assert.throws(() => parseWith(connectorSchema, { ...http, auth, allow: [] }), header)
    }
  })
  it('refuses schemas with regular expressions, and what is no schema', () => {
    for (const argumentsSchema of [
      { type: 'object', properties: { q: { type: 'string', pattern: '(a+)+$' } } },
      { type: 'no such type' },
    ]) {
      const allow = [{ operation: 'find', argumentsSchema }]
      assert.throws(() => parseWith(connectorSchema, { ...http, allow }))
    }
  })
  it('names what does not fit an argument schema', () => {
    const argumentsSchema = {
      type: 'object',
      properties: { folder: { enum: ['inbox'] } },
      required: ['folder'],
      additionalProperties: false,
    }
    assert.equal(argumentsProblem({ argumentsSchema }, { folder: 'inbox' }), undefined)
    assert.match(argumentsProblem({ argumentsSchema }, { folder: 'secret' }) ?? '', /folder/)
    assert.match(argumentsProblem({ argumentsSchema }, { folder: 'inbox', x: 1 }) ?? '', /x/)
  })
  it('takes the written hash before the one it read', () => {
    const bounds = { maxItems: 1, maxBytes: 1, timeoutMs: 100 }
    const connector = {
      allow: [
        { operation: 'a', ...bounds, hash: 'written' },
        { operation: 'b', ...bounds },
      ],
      pins: { a: 'read', b: 'read' },
    }
    assert.equal(pinOf(connector, 'a'), 'written')
    assert.equal(pinOf(connector, 'b'), 'read')
    assert.equal(pinOf(connector, 'constructor'), undefined)
  })
})

describe('who may observe', () => {
  const read = { connector: 'tickets', operation: 'list_items' }
  it('is everybody where the policy names no connector', () => {
    assert.ok(isConnectorEntitled({ connectors: [] }, 'user:ana', read))
  })
  it('is whom the policy names, and nobody else, as soon as it names any', () => {
    const connectors = [{ name: 'tickets', operations: ['list_items'], persons: ['user:ana'] }]
    assert.ok(isConnectorEntitled({ connectors }, 'user:ana', read))
    assert.ok(!isConnectorEntitled({ connectors }, 'user:bo', read))
    assert.ok(!isConnectorEntitled({ connectors }, 'user:ana', { ...read, operation: 'other' }))
    assert.ok(!isConnectorEntitled({ connectors }, 'user:ana', { ...read, connector: 'mail' }))
  })
})
