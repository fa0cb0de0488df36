import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readPage } from './read-items.ts'

const observe = { itemsPointer: '/items', identityPointer: '/id' }
const bounds = { maxItems: 3 }
const idsOf = (page: ReturnType<typeof readPage>) =>
  typeof page === 'string' ? page : page.items.map(({ identity }) => identity)

describe('an answer', () => {
  it('is a list of items, each known by its identity', () => {
    const page = readPage({ items: [{ id: 'a' }, { id: 7 }, { id: { x: 1 } }] }, observe, bounds)
    assert.deepEqual(idsOf(page), ['a', '7', '{"x":1}'])
  })
  it('that is a text is the list of its lines', () => {
    const read = { itemsPointer: '/content', identityPointer: '/text' }
    const page = readPage({ content: '[FILE] a\n\n[DIR] b\r\n' }, read, bounds)
    assert.deepEqual(idsOf(page), ['[FILE] a', '[DIR] b'])
  })
  it('that is one object is one item', () => {
    assert.deepEqual(idsOf(readPage({ id: 'x' }, { ...observe, itemsPointer: '' }, bounds)), ['x'])
  })
  it('breaks no bound: one item too many, and there is none', () => {
    const items = ['a', 'b', 'c', 'd'].map(id => ({ id }))
    assert.equal(readPage({ items }, observe, bounds), 'too-many-items')
    assert.equal(idsOf(readPage({ items: items.slice(1) }, observe, bounds)).length, 3)
  })
  it('with an item that no event may carry is a failed poll', () => {
    const items = [{ id: 'a' }, { id: 'b', text: 'x'.repeat(256 * 1024) }]
    assert.equal(readPage({ items }, observe, bounds), 'item-too-large')
  })
  it('without a list, or without an identity, is a failed poll', () => {
    assert.equal(readPage({ other: [] }, observe, bounds), 'no-list')
    assert.equal(readPage({ items: 7 }, observe, bounds), 'no-list')
    for (const item of [{}, { id: null }, { id: '' }, 'text', null]) {
      assert.equal(readPage({ items: [item] }, observe, bounds), 'no-identity')
    }
  })
  it('deeper than any reader may go is measured without going there', () => {
    const deep = JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as unknown
    assert.equal(readPage({ items: [{ id: 'a', deep }] }, observe, bounds), 'too-deep')
  })
  it('has equal digests for equal items, whatever the order of members', () => {
    const one = readPage({ items: [{ id: 'a', x: 1, y: { p: 1, q: 2 } }] }, observe, bounds)
    const two = readPage({ items: [{ y: { q: 2, p: 1 }, x: 1, id: 'a' }] }, observe, bounds)
    assert.ok(typeof one !== 'string' && typeof two !== 'string')
    assert.equal(one.items[0]?.digest, two.items[0]?.digest)
  })
  it('cannot put into an identity what an attribute may not hold', () => {
    const page = readPage(
      { items: [{ id: 'a\nb' }, { id: '\ud800' }, { id: 'x'.repeat(300) }] },
      observe,
      bounds,
    )
    for (const id of idsOf(page)) assert.match(id, /^sha256:[0-9a-f]{24}$/)
  })
  it('takes members of objects for data, whatever they are called', () => {
    const item = JSON.parse('{"__proto__":{"id":"evil"},"constructor":1}') as unknown
    assert.equal(readPage({ items: [item] }, observe, bounds), 'no-identity')
    assert.equal(readPage({}, { ...observe, itemsPointer: '/constructor' }, bounds), 'no-list')
  })
  it('names the next position where the observation says', () => {
    const read = { ...observe, cursorPointer: '/next' }
    const page = readPage({ items: [], next: { page: 2 } }, read, bounds)
    assert.ok(typeof page !== 'string')
    assert.equal(page.cursor, '{"page":2}')
  })
})
