/** The tables of the match index as data; they refer to each other, so they stand together. */
import type { EventView } from '#kernel/domain/filter/event-view.ts'
import type { TextTerm } from './match-term.ts'
import type { PathTable } from './path-table.ts'

export interface Bucket {
  /** Ids of the conditions; empty while divided. */
  members: number[]
  /**
   * For each of them: its id, the count of predicates left to ask, and these; an `exact` one as
   * `~id`, since its answer is known before. Undefined until an event scans the bucket.
   */
  codes: number[] | undefined
  /** Conditions held, also in the parts. */
  size: number
  /** Scans left until it counts as worn. */
  scansLeft: number
  /** Tries that found no place to divide by. */
  tries: number
  /** The dividing place, -1 while undivided. */
  path: number
  children: Map<string, Bucket> | undefined
  /** Conditions that do not look at the dividing place. */
  rest: Bucket | undefined
  /** The place of the text that leads here, -1 for no text or a part of one. */
  readonly entryPath: number
  /** Places by which the buckets above are divided. */
  readonly used: readonly number[]
}

/** One text that some predicate wants at one place, and the bucket of who is found by it. */
export interface Entry {
  readonly kind: TextTerm['kind']
  readonly path: number
  readonly value: string
  /** How many conditions want it: small means selective. */
  count: number
  /** How many events had it: small means that being found by it costs little. */
  hits: number
  refs: number
  /** The predicate that wants exactly this, while it exists. */
  predicate: Predicate | undefined
  bucket: Bucket | undefined
}

/** A predicate on the text at one place, or any test with the terms it needs at least. */
export interface Predicate {
  readonly id: number
  readonly kind: TextTerm['kind'] | 'one-of' | 'test'
  /** The place; -1 for a test. */
  readonly path: number
  readonly value: string
  readonly values: ReadonlySet<string> | undefined
  readonly test: ((view: EventView) => boolean) | undefined
  /** An event for which this holds has the text of at least one of these; empty: unknown. */
  readonly entries: readonly Entry[]
  /** The key of an interned `one-of` or `test`; empty where the entry holds the predicate. */
  readonly key: string
  refs: number
}

/** The entries at one place of an event. */
export interface PlaceEntries {
  readonly path: number
  readonly exact: Map<string, Entry>
  /** By length, so that a text is looked up once for each length in use. */
  readonly prefix: Map<number, Map<string, Entry>>
  readonly suffix: Map<number, Map<string, Entry>>
}

export interface PredicateTable {
  readonly paths: PathTable
  /** Places by the id of their path, and by its text. */
  readonly places: (PlaceEntries | undefined)[]
  readonly placeOf: Map<string, PlaceEntries>
  readonly byKey: Map<string, Predicate>
  /** Tests of one expression each, by its text: apart, since a text may look like any key. */
  readonly byCel: Map<string, Predicate>
  readonly byId: (Predicate | undefined)[]
  readonly freeIds: number[]
  /**
   * The answer of each predicate to the event of walk `w`: `2w + 1` yes, `2w` no, else unknown.
   * Yes of `exact` predicates is noted when their text is found; their unknown is a no.
   */
  answers: Int32Array
}
