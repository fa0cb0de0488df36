import type { Page } from './api.ts'
import type { Query, Transport } from './transport.ts'

/** A paged list: `page` gives one page, iterating gives all items, page after page. */
export interface Listing<T, Q> {
  page(query?: Q & { limit?: number; cursor?: string }, signal?: AbortSignal): Promise<Page<T>>
  items(query?: Q & { limit?: number }, signal?: AbortSignal): AsyncGenerator<T, void, undefined>
}

/** Offers a list of the API. A server that repeats a cursor ends the iteration. */
export function listing<T, Q = unknown>(transport: Transport, path: string): Listing<T, Q> {
  const page = (query?: object, signal?: AbortSignal) =>
    transport.json<Page<T>>({ method: 'GET', path, query: { ...query } as Query, signal })
  return {
    page,
    async *items(query, signal) {
      let cursor: string | undefined
      for (;;) {
        const { items, next } = await page({ ...query, ...(cursor ? { cursor } : {}) }, signal)
        yield* items
        if (!next || next === cursor) return
        cursor = next
      }
    },
  }
}
