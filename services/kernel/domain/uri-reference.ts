/** RFC 3986 appendix B: scheme, authority, path, query, fragment. */
const PARTS = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/
const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*$/
const AUTHORITY = /^(?:[A-Za-z0-9._~!$&'()*+,;=:%-]*@)?(?:\[[0-9A-Fa-fVv:.]+\]|[^[\]@:]*)(?::\d*)?$/
const CHARACTERS = /^[A-Za-z0-9._~:/?@!$&'()*+,;=%-]*$/
const BARE_PERCENT = /%(?![0-9A-Fa-f]{2})/

/**
 * True for a non-empty URI-reference (RFC 3986 section 4.1). `absolute` asks for a scheme
 * (section 4.3), a fragment still being allowed. Letters outside ASCII must be percent-encoded.
 */
export function isUriReference(text: string, absolute = false): boolean {
  const match = PARTS.exec(text)
  if (text === '' || !match || BARE_PERCENT.test(text)) return false
  const [, scheme, authority = '', path = '', query = '', fragment = ''] = match
  if (scheme === undefined ? absolute : !SCHEME.test(scheme)) return false
  const rest = [authority.replace(/\[[^\]]*\]/, ''), path, query, fragment]
  return AUTHORITY.test(authority) && rest.every(part => CHARACTERS.test(part))
}
