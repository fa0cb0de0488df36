/** Calls of the API with the key of who looks; it travels in the Authorization header only. */
import { sharedWords } from './language.js'

/** The key of who looks; empty while nobody is signed in. */
export const access = { key: '' }

/** The response, if it is a good one; else throws what the server says, with its `status`. */
export async function call(path, options = {}) {
  const response = await fetch(path, {
    ...options,
    headers: { authorization: `Bearer ${access.key}`, ...options.headers },
    cache: 'no-store',
    credentials: 'omit',
  })
  if (response.ok) return response
  const problem = await response.json().catch(() => ({}))
  const error = new Error(problem.detail ?? sharedWords.answered(response.status))
  error.status = response.status
  throw error
}

/** GET; what the answer's JSON says. */
export async function ask(path, query = {}) {
  const text = new URLSearchParams(query).toString()
  return (await call(text === '' ? path : `${path}?${text}`)).json()
}

/** POST with a JSON body. */
export function post(path, body = {}, headers = {}) {
  const all = { 'content-type': 'application/json', ...headers }
  return call(path, { method: 'POST', headers: all, body: JSON.stringify(body) })
}
