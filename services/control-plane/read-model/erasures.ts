/**
 * Which events were erased. Bodies lie in the log, so erasing means that the read model gives
 * them out no more: not in traces, not in messages, not as evidence of a verdict.
 */
import type { ProjectionDatabase } from '#kernel/ports/projection-database.ts'
import { eventHash } from './event-hash.ts'

export interface Erasures {
  has(tenant: string, source: string, id: string): boolean
  /** Marks the event, and takes the evidence out of verdicts that are there already. */
  add(tenant: string, event: { source: string; id: string }, mark: { at: number; by: string }): void
}

const keyOf = (tenant: string, source: string, id: string) => `${tenant}\n${source}\n${id}`

/** Keeps the erased identities in memory: they are few, and asked for with every candidate. */
export function createErasures(database: ProjectionDatabase): Erasures {
  const erased = new Set(
    database
      .all<{ tenant: string; source: string; id: string }>('select * from erasures')
      .map(({ tenant, source, id }) => keyOf(tenant, source, id)),
  )
  return {
    has: (tenant, source, id) => erased.size > 0 && erased.has(keyOf(tenant, source, id)),
    add(tenant, { source, id }, { at, by }) {
      erased.add(keyOf(tenant, source, id))
      database.run(
        `insert into erasures (tenant, source, id, at, by) values (?, ?, ?, ?, ?)
         on conflict (tenant, source, id) do nothing`,
        ...[tenant, source, id, at, by],
      )
      database.run(
        `update decisions set verdict = json_set(verdict, '$.evidence', json('[]'))
         where event_hash = ? and tenant = ? and source = ? and event_id = ?
           and verdict is not null`,
        ...[eventHash(tenant, source, id), tenant, source, id],
      )
    },
  }
}
