/**
 * British Columbia ended its clock changes: 09:00 in Vancouver on 2026-12-15 is 16:00Z for zone
 * databases that know it (2026f) and 17:00Z for older ones (2025c).
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { comingInstants, type DueInstant } from '#kernel/domain/schedule/coming-instants.ts'
import { dueIdOf } from '#kernel/domain/schedule/schedule-identity.ts'
import { scheduled } from '#test/support/schedule-sample.ts'
import { decideDue } from './decide-due.ts'
import { decideEntry, entryOf, planNext } from './schedule-entry.ts'

const NEW = Date.UTC(2026, 11, 15, 16)
const OLD = Date.UTC(2026, 11, 15, 17)
const nominal = '2026-12-15T09:00:00[America/Vancouver]'
const schedule = { dtstart: '2026-12-15T09:00', tzid: 'America/Vancouver', rrule: 'FREQ=YEARLY' }
const since = Date.UTC(2026, 11, 1)

test('the instant is what the running zone database says, the name is the local time', () => {
  const { schedule: stored } = scheduled({ since, schedule })
  assert.ok(stored)
  const [next] = comingInstants(stored, since, 1)
  assert.equal(next?.nominal, nominal)
  assert.ok(next?.atMs === NEW || next?.atMs === OLD, String(next?.atMs))
})

test('another zone database moves what is planned, since nothing computed outlives a start', () => {
  const subscription = scheduled({ since, schedule })
  const entry = entryOf(subscription, { key: 'acme/subscription/s1', partition: 0 })
  assert.ok(entry)
  planNext(entry, () => [])
  assert.ok(entry.nextMs === NEW || entry.nextMs === OLD)
  const moment = { nowMs: OLD, watchedSinceMs: since }
  const [firing] = decideEntry(entry, moment, () => []).firings
  assert.equal(firing?.instant.nominal, nominal)
})

test('fired by one zone database and due again by another, it is the same event', () => {
  const due = (atMs: number): DueInstant => ({ atMs, nominal })
  const decide = (decidedMs: number, nowMs: number, atMs: number) =>
    decideDue({
      ...{ kind: 'recurrence', missed: 'latest', decidedMs, nowMs, watchedSinceMs: since },
      isBefore: false,
      coming: afterMs => (atMs > afterMs ? [due(atMs)] : []),
      jitter: () => 0,
    })
  const first = decide(since, NEW, NEW)
  const again = decide(first.decidedMs, OLD, OLD)
  const nameOf = ({ firings }: typeof first) =>
    dueIdOf(
      { tenant: 'acme', id: 's1', revision: 'r' },
      'recurrence',
      firings[0]?.instant.nominal ?? '',
    )
  assert.equal(nameOf(again), nameOf(first))
  assert.deepEqual(decide(decide(since, OLD, OLD).decidedMs, OLD, NEW).firings, [])
})
