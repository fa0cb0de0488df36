import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesSources, matchesTypes } from './event-types.ts'

test('an omitted list and * take producers and webhook types only', () => {
  for (const types of [undefined, null, ['*'], ['**']]) {
    assert.equal(matchesTypes(types, 'com.shop.ticket.created'), true)
    assert.equal(matchesTypes(types, 'webhook.github'), true)
    assert.equal(matchesTypes(types, 'timeless.thing'), true)
    for (const type of ['platform.run.finished', 'time.once', 'time.missed', 'mcp.a.b']) {
      assert.equal(matchesTypes(types, type), false, type)
    }
  }
})

test('platform types and time.missed must be named', () => {
  assert.equal(matchesTypes(['platform.*'], 'platform.run.finished'), true)
  assert.equal(matchesTypes(['platform.run.finished'], 'platform.run.finished'), true)
  assert.equal(matchesTypes(['*', 'platform.flow.*'], 'platform.run.finished'), false)
  assert.equal(matchesTypes(['time.missed'], 'time.missed', { subject: 'other' }), true)
})

test('time, calendar and mcp events match only their own subscription', () => {
  for (const type of ['time.recurrence', 'calendar.anchor', 'mcp.tickets.list_items']) {
    assert.equal(matchesTypes(undefined, type, { subject: 's1', ownId: 's1' }), true)
    assert.equal(matchesTypes(undefined, type, { subject: 's2', ownId: 's1' }), false)
    assert.equal(matchesTypes([type], type, { subject: 's1' }), false)
    assert.equal(matchesTypes(['time.once'], type, { subject: 's1', ownId: 's1' }), false)
  }
})

test('a subscription with its own trigger takes no producer event', () => {
  assert.equal(matchesTypes(undefined, 'com.shop.x', { subject: 's1', ownId: 's1' }), false)
  assert.equal(matchesTypes(undefined, 'time.missed', { subject: 's1', ownId: 's1' }), false)
})

test('an empty list takes nothing', () => {
  assert.equal(matchesTypes([], 'com.shop.x'), false)
  assert.equal(matchesSources([], '/shop/eu'), false)
  assert.equal(matchesSources(undefined, '/shop/eu'), true)
  assert.equal(matchesSources(['/shop/*'], '/shop/eu'), true)
})
