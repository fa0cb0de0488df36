/** Pages over rows: the cursor is the list's name and the place of the last row shown. */
import { AmbitError } from '#kernel/errors.ts'

export interface PageRequest {
  /** Rows per page. */
  limit: number
  /** What `next` of the page before said. */
  cursor?: string | undefined
}

export interface Page<T> {
  items: T[]
  /** `null` on the last page. */
  next: string | null
}

/** The place to go on from, or undefined for the first page. */
export function placeOf(list: string, cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  const text = Buffer.from(cursor, 'base64url').toString()
  const [name, place = ''] = text.split(' ')
  if (name === list && /^-?\d{1,16}$/.test(place)) return Number(place)
  throw new AmbitError(
    'bad-request',
    'cursor: expected what "next" of this list said; start over.',
    {
      pointer: '/cursor',
      expected: 'the "next" of an earlier page of this list',
      actual: 'another text',
    },
  )
}

/** Does the cursor go on in this list? False for none. */
export function isCursorOf(list: string, cursor: string | undefined): boolean {
  return cursor !== undefined && Buffer.from(cursor, 'base64url').toString().startsWith(`${list} `)
}

/** A cursor behind this place of a list. */
export function cursorAt(list: string, place: number): string {
  return Buffer.from(`${list} ${place}`).toString('base64url')
}

/** Cuts what was read with one row more than the limit. */
export function pageOfRows<R, T>(
  list: string,
  rows: R[],
  limit: number,
  shape: { placeOf(row: R): number; view(row: R): T },
): Page<T> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const isMore = rows.length > limit && last !== undefined
  return {
    items: shown.map(shape.view),
    next: isMore ? cursorAt(list, shape.placeOf(last)) : null,
  }
}

/** A condition of a query and its values; `undefined` values leave the condition out. */
export function conditions(given: [sql: string, value: string | number | undefined][]): {
  where: string
  values: (string | number)[]
} {
  const set = given.filter((each): each is [string, string | number] => each[1] !== undefined)
  return {
    where: set.map(([sql]) => sql).join(' and '),
    values: set.map(([, value]) => value),
  }
}
