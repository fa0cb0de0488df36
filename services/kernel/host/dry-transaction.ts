/** A decision on what the store holds that leaves no trace in it. */
import { createUnitOfWork, type UnitOfWork, wantMissing } from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { StateStore } from '#kernel/ports/state-store.ts'

/** Loads of one decision; each learns of more documents. */
const LOADS_MAX = 1000

/** Decides as a transaction would, and drops every change. */
export async function dryTransaction<T>(
  store: Pick<StateStore, 'load'>,
  tenant: string,
  decide: (unit: UnitOfWork) => T,
): Promise<T> {
  const wanted = { documents: new Set<string>(), counters: new Set<string>() }
  for (let loads = 0; loads < LOADS_MAX; loads++) {
    const loaded = await store.load({
      tenant,
      documents: [...wanted.documents],
      counters: [...wanted.counters],
    })
    try {
      return decide(createUnitOfWork(tenant, wanted, loaded).unit)
    } catch (error) {
      wantMissing(wanted, error)
    }
  }
  throw new AmbitError('store-unavailable', 'The dry run needs too many documents; ask for less.')
}
