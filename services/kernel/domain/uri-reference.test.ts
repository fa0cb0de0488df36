import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUriReference } from './uri-reference.ts'

test('isUriReference takes absolute and relative references', () => {
  const good = [
    '/shop/eu',
    '1-555-123-4567',
    'urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66',
    'https://github.com/cloudevents/spec/pull?q=a#L1',
    'mailto:cncf-wg-serverless@lists.cncf.io',
    'http://[2001:db8::1]:8080/a',
    'http://user:pw@host:80/',
    '/caf%C3%A9',
    '#part',
    '?q',
    '//host/path',
    'com.example.service',
  ]
  for (const text of good) assert.ok(isUriReference(text), text)
})

test('isUriReference refuses what RFC 3986 does', () => {
  const bad = ['', 'a b', '/a%zz', '/a%2', 'http://[bad', '/a[0]', '<a>', '/españa', 'a\\b', '1:2']
  for (const text of [...bad, '#a#b', '"x"', '/a^b', '{id}', 'http://h:port/']) {
    assert.ok(!isUriReference(text), text)
  }
})

test('isUriReference asks an absolute one for its scheme', () => {
  assert.ok(isUriReference('https://schemas.example.com/a.json#/definitions/b', true))
  for (const text of ['/schemas/a.json', 'a.json', '//host/a']) {
    assert.ok(!isUriReference(text, true), text)
  }
})
