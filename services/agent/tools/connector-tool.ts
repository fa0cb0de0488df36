/** An allowed operation of an MCP server as a tool: its name, its arguments, what a call may do. */
import { z } from 'zod'
import type { Allowed, Connector } from '#kernel/domain/connector.ts'
import { hashId } from '#kernel/domain/ids.ts'
import type { McpOffer } from '#kernel/domain/mcp-offer.ts'
import { argumentDigest } from './argument-digest.ts'
import type { Tool } from './tool.ts'

const NAME_MAX = 64
const DESCRIPTION_MAX = 1000
/** Characters of a schema; a larger one would push out what the conversation is about. */
const SCHEMA_MAX = 20_000
/** Ms that listing and a new session may take, beside the call itself. */
const OVERHEAD_MS = 30_000

type JsonSchema = Record<string, unknown>

/** Calls the operation, or throws `ToolRefusal`. */
export type ConnectorCall = (args: Record<string, unknown>, key: string) => Promise<unknown>

/**
 * The tool, or undefined where its arguments have no schema that can be read. Arguments fit the
 * allow-list's schema, else the server's own. The effect is the allow-list's, `write` by default:
 * the server's `readOnlyHint` is no permission.
 */
export function connectorTool(
  connector: Pick<Connector, 'id'>,
  allowed: Allowed,
  offer: McpOffer,
  call: ConnectorCall,
): Tool | undefined {
  const { operation, effect = 'write', egress = false, timeoutMs } = allowed
  const parameters = allowed.argumentsSchema ?? ownSchema(offer)
  const schema = readable(parameters)
  if (!schema) return undefined
  return {
    ...{ name: toolNameOf(connector.id, operation), parameters, schema, effect, egress },
    description: `${operation} of ${connector.id}. ${offer.description.slice(0, DESCRIPTION_MAX)}`,
    timeoutMs: timeoutMs + OVERHEAD_MS,
    target: args => `${connector.id}/${operation} ${argumentDigest(args)}`,
    async run(args, { idempotencyKey }) {
      const answer = await call(args, idempotencyKey)
      return typeof answer === 'string' ? answer : JSON.stringify(answer)
    },
  }
}

/** `tickets__list_items`; what does not fit a tool's name is told apart by a hash. */
export function toolNameOf(connector: string, operation: string): string {
  const name = `${connector}__${operation}`
  const isPlain = /^[A-Za-z0-9_-]+$/.test(name) && name.split('__').length === 2
  if (isPlain && name.length <= NAME_MAX) return name
  const mark = hashId('t', connector, operation).slice(-8)
  const safe = name.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, NAME_MAX - mark.length - 1)
  return `${safe}_${mark}`
}

/** The server's schema without regular expressions: it comes from strangers. */
function ownSchema({ kind, operation, inputSchema }: McpOffer): JsonSchema {
  if (kind === 'resource') return templateSchema(operation)
  const isObject = typeof inputSchema === 'object' && inputSchema !== null
  const schema = isObject ? withoutPatterns(inputSchema) : {}
  return { ...(schema as JsonSchema), type: 'object' }
}

function templateSchema(operation: string): JsonSchema {
  const names = [...operation.matchAll(/\{([A-Za-z0-9_.]+)\}/g)].map(([, name = '']) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(names.map(name => [name, { type: 'string' }])),
    ...{ required: names, additionalProperties: false },
  }
}

function withoutPatterns(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPatterns)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(
    ([name, inner]) =>
      name !== 'patternProperties' && !(name === 'pattern' && typeof inner === 'string'),
  )
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutPatterns(inner)]))
}

function readable(schema: JsonSchema): Tool['schema'] | undefined {
  if (JSON.stringify(schema).length > SCHEMA_MAX) return undefined
  try {
    const read = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
    return read as unknown as Tool['schema']
  } catch {
    return undefined
  }
}
