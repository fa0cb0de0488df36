/** What the console knows of the tenant, and how it asks for lists. */
import { ask } from '../../kernel/web/call.js'

/** What the tab knows: names and zones of subscriptions by id, the tenant's currency. */
export const session = { names: new Map(), zones: new Map(), currency: '' }

/** All pages of a list, up to `max` items; `isCut` says that there are more. */
export async function askAll(path, query, max) {
  const items = []
  let cursor = null
  do {
    const page = await ask(path, { ...query, limit: '200', ...(cursor ? { cursor } : {}) })
    items.push(...page.items)
    cursor = page.next
  } while (cursor && items.length < max)
  return { items, isCut: cursor !== null }
}

export const subscriptionPath = (id, action = '') =>
  `/v1/subscriptions/${encodeURIComponent(id)}${action}`

export const nameOf = id => session.names.get(id) ?? id

/** Read once per tab; a person who may not read the policy sees amounts without it. */
export async function loadCurrency() {
  const { currency = '' } = await ask('/v1/policy').catch(() => ({}))
  session.currency = currency
}
