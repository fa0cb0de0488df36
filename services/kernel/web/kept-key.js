/** The key lives in this tab's sessionStorage, for every page of the host. */

const KEY = 'ambit-key'

/** The key that the address or an earlier page of this tab brought, or null. */
export function knownKey() {
  return takeKeyFromAddress() ?? sessionStorage.getItem(KEY)
}

export function keepKey(key) {
  sessionStorage.setItem(KEY, key)
}

export function forgetKey() {
  sessionStorage.removeItem(KEY)
}

/** What the address says behind `#`, which browsers do not send. */
export function addressed() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
}

/** A link may carry the key behind `#`; it leaves the address at once, and nothing else does. */
function takeKeyFromAddress() {
  const { key, ...rest } = addressed()
  if (!key) return null
  const left = new URLSearchParams(rest).toString()
  const place = location.pathname + location.search
  history.replaceState(null, '', left === '' ? place : `${place}#${left}`)
  return key
}
