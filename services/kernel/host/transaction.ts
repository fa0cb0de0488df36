/**
 * One decision made durable: load, decide, commit, and again while somebody else was faster.
 * The decider is run anew on every try, so it must be pure.
 */

import {
  createUnitOfWork,
  type UnitChanges,
  type UnitOfWork,
  type Wanted,
  wantMissing,
} from '#kernel/domain/unit-of-work.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Commit, CommitResult, StateStore } from '#kernel/ports/state-store.ts'

/** Tries before a contended decision is given back as `store-unavailable`. */
const TRIES_MAX = 50

/** Loads of one decision, those that only learned of more documents included. */
const LOADS_MAX = 1000

export interface Hints {
  documents: string[]
  counters: string[]
}

export interface TransactionRequest<T> {
  store: StateStore
  tenant: string
  /** What the decider will probably read; anything missing is loaded on demand. */
  hints: Hints
  decide(unit: UnitOfWork): T
  /** Completes the commit: fence, outbox, field of counters. */
  shape(
    changes: UnitChanges,
  ): Pick<Commit, 'fence' | 'outbox' | 'clear' | 'append' | 'offset' | 'due' | 'put'>
  /** The writer's field in shared counters. */
  field: string
  /** Called before every try; throwing gives up, for example when ownership was lost. */
  beforeTry?(): void
}

export type TransactionResult<T> =
  | { kind: 'ok'; value: T; changes: UnitChanges; now: number }
  | { kind: 'lost'; found: Extract<CommitResult, { kind: 'lost' }>['found'] }

/**
 * Runs until committed or lost. Rejects with `store-unavailable` when the store is away or the
 * contention does not end.
 */
export async function runTransaction<T>(
  request: TransactionRequest<T>,
): Promise<TransactionResult<T>> {
  const { hints } = request
  const wanted = { documents: new Set(hints.documents), counters: new Set(hints.counters) }
  for (let tries = 0, loads = 0; tries < TRIES_MAX && loads < LOADS_MAX; tries++, loads++) {
    request.beforeTry?.()
    const made = await decideOnce(request, wanted)
    if (made.kind === 'incomplete') {
      tries -= 1
      continue
    }
    const { value, changes } = made
    const result = await request.store.commit(commitOf(request, changes))
    if (result.kind === 'ok') return { kind: 'ok', value, changes, now: result.now }
    if (result.kind === 'lost') return { kind: 'lost', found: result.found }
    if (result.kind === 'limit') wanted.counters.add(result.counter)
    if (result.kind === 'conflict') wanted.documents.add(result.key)
  }
  throw new AmbitError('store-unavailable', 'The decision met too many concurrent writers; retry.')
}

async function decideOnce<T>(
  request: TransactionRequest<T>,
  wanted: Wanted,
): Promise<{ kind: 'incomplete' } | { kind: 'made'; value: T; changes: UnitChanges }> {
  const loaded = await request.store.load({
    tenant: request.tenant,
    documents: [...wanted.documents],
    counters: [...wanted.counters],
  })
  const { unit, changes } = createUnitOfWork(request.tenant, wanted, loaded)
  try {
    const value = request.decide(unit)
    return { kind: 'made', value, changes: changes() }
  } catch (error) {
    wantMissing(wanted, error)
    return { kind: 'incomplete' }
  }
}

function commitOf<T>(request: TransactionRequest<T>, changes: UnitChanges): Commit {
  const { expect, put, due } = changes
  const add = changes.add.map(({ part, ...change }) => ({
    ...change,
    field: part === undefined ? request.field : `${request.field}/${part}`,
  }))
  return { tenant: request.tenant, expect, put, add, due, ...request.shape(changes) }
}
