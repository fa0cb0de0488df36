/** A media type, lower-cased, with the one parameter that decides how bytes are read. */
export interface MediaType {
  /** `type/subtype`. */
  essence: string
  charset?: string
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})[ \\t]*(;[\\x20-\\x7e\\t]*)?$`)
const CHARSET = new RegExp(`;[ \\t]*charset[ \\t]*=[ \\t]*"?(${TOKEN})"?`, 'i')

/** Reads a media type (RFC 9110 section 8.3.1); undefined when it is not one. */
export function parseMediaType(value: string): MediaType | undefined {
  const match = MEDIA_TYPE.exec(value.trim())
  if (!match) return undefined
  const charset = CHARSET.exec(match[2] ?? '')?.[1]?.toLowerCase()
  return { essence: match[1]!.toLowerCase(), ...(charset && { charset }) }
}

/** True for `application/json`, `text/json` and every `+json` (RFC 6839). */
export function isJsonType(essence: string): boolean {
  return /^(?:application|text)\/json$|\+json$/.test(essence)
}

/** True for types whose payload is text for people or programs, other than JSON. */
export function isTextType(essence: string): boolean {
  return /^text\/|^application\/(?:xml|x-www-form-urlencoded|yaml)$|\+(?:xml|yaml)$/.test(essence)
}

/** True when the bytes must be UTF-8: that charset, its ASCII subset, or none named. */
export function isUtf8(type: MediaType): boolean {
  return type.charset === undefined || /^(?:utf-?8|us-ascii|ascii)$/.test(type.charset)
}
