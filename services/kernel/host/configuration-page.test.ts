import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { SETTINGS } from './configuration.ts'
import { configurationPage } from './configuration-page.ts'

const DOCS = join(import.meta.dirname, '../../../docs')

test('docs/configuration.md is what the settings say', () => {
  const page = readFileSync(join(DOCS, 'configuration.md'), 'utf8')
  assert.equal(page, configurationPage())
})

test('every setting says in words what it means', () => {
  const silent = Object.entries(SETTINGS).filter(([, setting]) => !setting.description)
  assert.deepEqual(
    silent.map(([name]) => name),
    [],
  )
})

test('no page names a setting that does not exist', () => {
  // Names of tools and tests around the product.
  const others = /^AMBIT_(?:INFRA_[A-Z_]+|REQUIRE_INFRA|URL|KEY)$/
  const pages = ['../README.md', 'operations.md', 'guarantees.md', 'architecture.md', 'api.md']
  const unknown = pages.flatMap(page => {
    const text = readFileSync(join(DOCS, page), 'utf8')
    const named = new Set(text.match(/\bAMBIT_[A-Z_]*[A-Z]\b/g))
    return [...named]
      .filter(name => !Object.hasOwn(SETTINGS, name) && !others.test(name))
      .map(name => `${page}: ${name}`)
  })
  assert.deepEqual(unknown, [])
})
