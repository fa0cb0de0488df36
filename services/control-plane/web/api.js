/** Calls of the API with the key of who looks; it travels in the Authorization header only. */
import { words } from './words.js'

/** What the tab knows: the key, names and zones of subscriptions by id, the tenant's currency. */
export const session = { key: '', names: new Map(), zones: new Map(), currency: '' }

export async function call(path, options = {}) {
  const response = await fetch(path, {
    ...options,
    headers: { authorization: `Bearer ${session.key}`, ...options.headers },
    cache: 'no-store',
    credentials: 'omit',
  })
  if (response.ok) return response
  const problem = await response.json().catch(() => ({}))
  const error = new Error(problem.detail ?? words.answered(response.status))
  error.status = response.status
  throw error
}

export const ask = async (path, query = {}) => {
  const text = new URLSearchParams(query).toString()
  return (await call(text === '' ? path : `${path}?${text}`)).json()
}

/** POST with a JSON body. */
export function post(path, body = {}) {
  const headers = { 'content-type': 'application/json' }
  return call(path, { method: 'POST', headers, body: JSON.stringify(body) })
}

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
