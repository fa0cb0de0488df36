/** Paged lists: `?limit=&cursor=` → `{items, next}`. */
import { z } from 'zod'

/** `limit` is at most 200, default 50; `cursor` is what `next` gave. */
export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(1024).optional(),
})

/** One page of a list that is ordered by `idOf`; the cursor is the last id seen. */
export function pageOf<T, V>(
  items: T[],
  query: { limit: number; cursor?: string },
  idOf: (item: T) => string,
  view: (item: T) => V,
): { items: V[]; next: string | null } {
  const after = query.cursor ? Buffer.from(query.cursor, 'base64url').toString() : ''
  const rest = items.filter(item => idOf(item) > after)
  const page = rest.slice(0, query.limit)
  const last = page.at(-1)
  const isMore = rest.length > page.length && last !== undefined
  return {
    items: page.map(view),
    next: isMore ? Buffer.from(idOf(last)).toString('base64url') : null,
  }
}
