import { AmbitError } from '../errors.ts'
import { decodeUtf8, parseStrictJson } from './lossless-json.ts'
import { isJsonType, isTextType, isUtf8, parseMediaType } from './media-type.ts'

/** The payload of an event in its JSON form: one of the two members, or none. */
export interface EventPayload {
  data?: unknown
  data_base64?: string
}

/**
 * Reads a payload that arrived as bytes beside its content type (CloudEvents JSON format 1.0.2
 * section 3.1): JSON types as a value, text types as a string, everything else byte for byte in
 * Base64. No bytes is no data. Text that is not UTF-8 and does not claim to be stays bytes.
 *
 * Without a content type, bytes that are a JSON object or array become a value: an event in JSON
 * form without `datacontenttype` says just that. Other bytes stay bytes.
 *
 * @throws AmbitError `bad-json` when bytes are not what their type claims.
 */
export function payloadOf(bytes: Uint8Array, contentType: string | undefined): EventPayload {
  if (bytes.length === 0) return {}
  if (contentType === undefined) return jsonOrBytes(bytes)
  const type = parseMediaType(contentType)
  if (!type || !isUtf8(type)) return asBytes(bytes)
  if (isJsonType(type.essence)) return { data: parseStrictJson(decodeUtf8(bytes)) }
  if (!isTextType(type.essence)) return asBytes(bytes)
  return type.charset === undefined ? textOrBytes(bytes) : { data: decodeUtf8(bytes) }
}

function asBytes(bytes: Uint8Array): EventPayload {
  return {
    data_base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
  }
}

function textOrBytes(bytes: Uint8Array): EventPayload {
  return attempt(() => ({ data: decodeUtf8(bytes) })) ?? asBytes(bytes)
}

function jsonOrBytes(bytes: Uint8Array): EventPayload {
  const value = attempt(() => parseStrictJson(decodeUtf8(bytes)))
  return typeof value === 'object' && value !== null ? { data: value } : asBytes(bytes)
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof AmbitError) return undefined
    throw error
  }
}
