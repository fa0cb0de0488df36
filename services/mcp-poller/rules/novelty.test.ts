import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type NoveltyRules, type Position, seenMax, startPoll, takePage } from './novelty.ts'
import { itemOf, type Page } from './read-items.ts'

const START: Position = { isPositioned: false, cursor: null, seen: [] }
const rules = (more: Partial<NoveltyRules> = {}): NoveltyRules => ({
  ...{ watch: 'new', backfill: 0, hasCursor: false, maxItems: 100 },
  ...more,
})
/** `a` is an item of that identity, `a2` the same with other content. */
const page = (ids: string, cursor: string | null = null): Page => ({
  items: ids
    .split(' ')
    .filter(Boolean)
    .flatMap(id => itemOf(id[0] ?? '', { id: id[0], content: id }) ?? []),
  cursor,
})

/** Polls one page after the other, each in a poll of its own; answers what each emitted. */
function follow(pages: Page[], by: NoveltyRules, from: Position = START) {
  let position = from
  const emitted = pages.map(each => {
    const done = takePage(startPoll(position), each, by)
    position = done.position
    return done.fresh.map(
      ({ item, change }) => `${change} ${(item.data as { content: string }).content}`,
    )
  })
  return { emitted, position }
}

describe('novelty', () => {
  it('N2: the first observation emits nothing, the next what came since', () => {
    const { emitted } = follow([page('a b'), page('a b'), page('c a b')], rules())
    assert.deepEqual(emitted, [[], [], ['new c']])
  })
  it('N2: the first observation emits as many as it is asked to backfill', () => {
    const { emitted } = follow([page('a b c'), page('a b c d')], rules({ backfill: 2 }))
    assert.deepEqual(emitted, [['new a', 'new b'], ['new d']])
  })
  it('N1: an identity once seen is never new, also when it was away', () => {
    const { emitted } = follow([page('a'), page(''), page('b'), page('a b')], rules())
    assert.deepEqual(emitted, [[], [], ['new b'], []])
  })
  it('N1: other content is a change only where changes are watched', () => {
    const pages = [page('a'), page('a2'), page('a2'), page('a2 b')]
    assert.deepEqual(follow(pages, rules()).emitted, [[], [], [], ['new b']])
    const watched = follow(pages, rules({ watch: 'changed' })).emitted
    assert.deepEqual(watched, [[], ['changed a2'], [], ['new b']])
  })
  it('the same page twice, and the same item under another cursor, are one', () => {
    const by = rules({ hasCursor: true })
    const pages = [page('', '1'), page('a b', '2'), page('a b', '2'), page('b c', '3')]
    assert.deepEqual(follow(pages, by).emitted, [[], ['new a', 'new b'], [], ['new c']])
  })
  it('an answer that lists an identity twice means the last one', () => {
    const by = rules({ watch: 'changed' })
    const { emitted } = follow([page('b'), page('a a2'), page('a a2')], by)
    assert.deepEqual(emitted, [[], ['new a2'], []])
  })
  it('N3: the memory is bounded, and what is listed now is forgotten last', () => {
    const by = rules({ maxItems: 1000 })
    const many = (from: number, count: number): Page => ({
      items: Array.from({ length: count }, (_, n) => itemOf(`${from + n}`, {}) ?? assert.fail()),
      cursor: null,
    })
    const listed = many(0, 10)
    let { position } = follow([listed], by)
    for (let round = 1; round <= 8; round++) {
      ;({ position } = follow([listed, many(round * 1000, 990)], by, position))
      assert.ok(position.seen.length <= seenMax(by))
    }
    assert.deepEqual(follow([listed], by, position).emitted, [[]])
  })
})

describe('a cursor', () => {
  it('goes on at once while there is something that nobody has seen', () => {
    const by = rules({ hasCursor: true })
    const positioned = { ...START, isPositioned: true, cursor: '0' }
    const one = takePage(startPoll(positioned), page('a b', '1'), by)
    assert.ok(one.hasMore)
    const two = takePage(one, page('', '2'), by)
    assert.ok(!two.hasMore)
    assert.deepEqual([two.fresh.length, two.position.cursor], [2, '2'])
  })
  it('finds its place over several pages before anything is emitted', () => {
    const by = rules({ hasCursor: true })
    const one = takePage(startPoll(START), page('a b', '1'), by)
    const two = takePage(one, page('c', '2'), by)
    const end = takePage(two, page('', '2'), by)
    assert.deepEqual([two.position.isPositioned, end.position.isPositioned], [false, true])
    assert.deepEqual([end.fresh, end.hasMore], [[], false])
    const next = takePage(startPoll(end.position), page('d', '3'), by)
    assert.equal(next.fresh.length, 1)
  })
  it('that the answer does not name stays where it was', () => {
    const by = rules({ hasCursor: true })
    const { position } = follow([page('', '1'), page('a')], by)
    assert.equal(position.cursor, '1')
  })
  it('does not run for ever with a server that always has more', () => {
    const by = rules({ hasCursor: true })
    let progress = startPoll({ ...START, isPositioned: true })
    for (let n = 0; progress.hasMore; n++) {
      assert.ok(n < 100)
      const item = itemOf(`${n}`, {}) ?? assert.fail()
      progress = takePage(progress, { items: [item], cursor: `${n}` }, by)
    }
    assert.ok(progress.fresh.length <= 20)
  })
})
