/** Headers as Node gives them: a list is a header that came more than once. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * The one value of a header, its name in any case; undefined when it is absent or came more than
 * once, because nobody can say which of two values was meant.
 */
export function headerOf(headers: RequestHeaders, name: string): string | undefined {
  const values = headerValues(headers, name)
  return values.length === 1 ? values[0] : undefined
}

/** Every value of a header, its name in any case. */
export function headerValues(headers: RequestHeaders, name: string): string[] {
  const direct = headers[name]
  if (typeof direct === 'string') return [direct]
  return Object.entries(headers).flatMap(([key, value]) =>
    key.toLowerCase() === name && value !== undefined ? value : [],
  )
}
