/** What an MCP server offers to read, and the hash that tells whether it is still the same. */
import { canonicalJson } from './canonical-json.ts'
import { hashId } from './ids.ts'

export interface McpOffer {
  /** As an allow-list names it: a tool's name, a URI or URI template, or `event:` and a name. */
  operation: string
  kind: 'tool' | 'resource' | 'event'
  description: string
  /** The server's own claim; shown to people, never a permission. */
  readOnlyHint: boolean | null
  inputSchema: unknown
  /** Changes with the kind, the description, and the schemas of arguments and answers. */
  hash: string
}

/** An offer with its hash. */
export function mcpOffer(offer: Omit<McpOffer, 'hash'> & { outputSchema?: unknown }): McpOffer {
  const { outputSchema, ...shown } = offer
  const { kind, operation, description, inputSchema } = offer
  const text = canonicalJson({ description, inputSchema, outputSchema: outputSchema ?? null })
  return { ...shown, hash: hashId('mo', kind, operation, text) }
}

/** Prefix of operations that are MCP events. */
export const EVENT_PREFIX = 'event:'

/** Is the operation a resource's URI or URI template? Names of tools hold no `://`. */
export function isResource(operation: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(operation)
}

/**
 * Fills the simple expressions `{name}` of a URI template (RFC 6570 level 1), percent-encoded;
 * answers undefined where an argument is missing or is no text or number.
 */
export function expandUri(template: string, given: Record<string, unknown>): string | undefined {
  let isComplete = true
  const uri = template.replaceAll(/\{([A-Za-z0-9_.]+)\}/g, (_all, name: string) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (typeof value !== 'string' && typeof value !== 'number') isComplete = false
    return encodeURIComponent(String(value))
  })
  return isComplete ? uri : undefined
}
