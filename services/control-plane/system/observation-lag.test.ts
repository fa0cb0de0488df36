import assert from 'node:assert/strict'
import { it } from 'node:test'
import { observationIdOf } from '#kernel/domain/observation.ts'
import { type ObservationState, observationKey } from '#kernel/domain/observation-state.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { observeSchema } from '#kernel/domain/trigger.ts'
import { scheduled } from '#test/support/schedule-sample.ts'
import { createObservationLagBook, OVERDUE_AFTER_MS } from './observation-lag.ts'

const START = Date.parse('2026-03-02T09:00:00Z')
const MINUTE = 60_000

function watching(id: string, everyMs = MINUTE, more: Partial<Subscription> = {}): Subscription {
  const once = { once: '2027-01-01T00:00:00', tzid: 'UTC' }
  const observe = observeSchema.parse({
    ...{ connector: 'tickets', operation: 'list', everyMs, itemsPointer: '/items' },
    identityPointer: '/id',
  })
  return { ...scheduled({ id, since: START, schedule: once }), schedule: null, observe, ...more }
}

const keyOf = (subscription: Subscription & { observe: NonNullable<Subscription['observe']> }) =>
  observationKey(subscription.tenant, observationIdOf(subscription))

function cursor(more: Partial<ObservationState>, updatedAt = START) {
  const state: ObservationState = {
    ...{ id: 'o1', connector: 'tickets', operation: 'list', scope: 'user:ana', writer: 'w' },
    ...{ isPositioned: true, cursor: null, seen: [], emitted: 0, polledAt: null, gapAt: null },
    ...{ failures: 0, failedSince: null, error: null, refusal: null, suspended: null, ...more },
  }
  return { state, updatedAt }
}

function bookOf(...subscriptions: Subscription[]) {
  const book = createObservationLagBook()
  for (const each of subscriptions) book.setSubscription(each.id, each)
  const [first] = subscriptions
  const key = first?.observe ? keyOf({ ...first, observe: first.observe }) : ''
  return { book, key }
}

const WELL = { overdue: 0, oldestLateMs: 0, failing: 0, refused: 0, suspended: 0 }

it('subscriptions that share a poll are one observation', () => {
  const { book } = bookOf(watching('s1'), watching('s2', 5 * MINUTE))
  assert.deepEqual(book.state(START), { observations: 1, ...WELL })
})

it('an observation that nobody polls is overdue, at the shortest interval', () => {
  const { book } = bookOf(watching('s1', 60 * MINUTE), watching('s2'))
  const dueMs = START + 1.1 * MINUTE
  assert.equal(book.state(dueMs + OVERDUE_AFTER_MS).overdue, 0)
  const { overdue, oldestLateMs } = book.state(dueMs + 10 * MINUTE)
  assert.deepEqual({ overdue, oldestLateMs }, { overdue: 1, oldestLateMs: 10 * MINUTE })
})

it('a poll that was written down pays the debt', () => {
  const { book, key } = bookOf(watching('s1'))
  const now = START + 20 * MINUTE
  book.setCursor(key, cursor({ polledAt: new Date(now - MINUTE).toISOString() }))
  assert.deepEqual(book.state(now), { observations: 1, ...WELL })
})

it('tells failing, refused and suspended ones apart, and none of the last two is overdue', () => {
  const { book, key } = bookOf(watching('s1'))
  const now = START + 60 * MINUTE
  book.setCursor(key, cursor({ failures: 2 }, now))
  assert.deepEqual(book.state(now), { observations: 1, ...WELL, failing: 1 })
  book.setCursor(key, cursor({ refusal: 'not-entitled' }))
  assert.deepEqual(book.state(now), { observations: 1, ...WELL, refused: 1 })
  const suspended = { at: '', probes: 1, proposedAt: null, dependents: {} }
  book.setCursor(key, cursor({ suspended }))
  book.setSubscription('s1', watching('s1', MINUTE, { state: stateOf('suspended') }))
  assert.deepEqual(book.state(now), { observations: 0, ...WELL, suspended: 1 })
  book.setCursor(key, undefined)
  assert.deepEqual(book.state(now), { observations: 0, ...WELL })
})

function stateOf(operation: 'suspended'): Subscription['state'] {
  return { ...watching('s1').state, operation }
}
