/** Counters of the state store: judged in memory against what is stored, then written (S4). */
import type { CounterAdd } from '#kernel/ports/state-store.ts'
import type { SqliteDatabase } from './sqlite-database.ts'

const FIELDS = 'select field, amount from counter where tenant = ? and counter = ? and expires > ?'
const DROP_EXPIRED = 'delete from counter where tenant = ? and counter = ? and expires <= ?'
const STORE =
  'insert into counter(tenant, counter, field, amount, expires) values (?, ?, ?, ?, ?) ' +
  'on conflict do update set amount = excluded.amount, expires = excluded.expires'
const RENEW = 'update counter set expires = ? where tenant = ? and counter = ? and expires <> ?'

/** What the additions of one commit make of the counters they name. */
export type CounterPlan =
  | { kind: 'limit'; counter: string; sum: number }
  | { kind: 'planned'; counters: Map<string, PlannedCounter> }

interface PlannedCounter {
  fields: Map<string, number>
  changed: Set<string>
  expires: number
}

/** Sum over the fields of a counter; 0 when absent or expired. */
export function sumOf(
  database: SqliteDatabase,
  { tenant, counter, now }: { tenant: string; counter: string; now: number },
): number {
  return sum(storedFields(database, { tenant, counter, now }))
}

function storedFields(
  { statement }: SqliteDatabase,
  { tenant, counter, now }: { tenant: string; counter: string; now: number },
): Map<string, number> {
  const rows = statement(FIELDS).all(tenant, counter, now)
  return new Map(rows.map(({ field, amount }) => [String(field), Number(amount)]))
}

function sum(fields: Map<string, number>): number {
  let total = 0
  for (const amount of fields.values()) total += amount
  return total
}

/**
 * Applies additions in the order listed, without writing. An addition that passes its limit
 * refuses all; giving back and setting is never refused.
 */
export function planCounters(
  database: SqliteDatabase,
  { tenant, now, add }: { tenant: string; now: number; add: CounterAdd[] },
): CounterPlan {
  const counters = new Map<string, PlannedCounter>()
  for (const { counter, field, amount, limit, set, ttlMs } of add) {
    const planned = counters.get(counter) ?? {
      fields: storedFields(database, { tenant, counter, now }),
      changed: new Set(),
      expires: 0,
    }
    counters.set(counter, planned)
    const { fields } = planned
    fields.set(field, set ? amount : (fields.get(field) ?? 0) + amount)
    planned.changed.add(field)
    planned.expires = now + ttlMs
    if (!set && amount > 0 && limit !== undefined && sum(fields) > limit) {
      return { kind: 'limit', counter, sum: sumOf(database, { tenant, counter, now }) }
    }
  }
  return { kind: 'planned', counters }
}

/** Writes a plan; every addition renews the life of the whole counter. */
export function writeCounters(
  { statement }: SqliteDatabase,
  { tenant, now }: { tenant: string; now: number },
  counters: Map<string, PlannedCounter>,
): void {
  for (const [counter, { fields, changed, expires }] of counters) {
    statement(DROP_EXPIRED).run(tenant, counter, now)
    for (const field of changed) {
      statement(STORE).run(tenant, counter, field, fields.get(field) ?? 0, expires)
    }
    if (fields.size > changed.size) statement(RENEW).run(expires, tenant, counter, expires)
  }
}
