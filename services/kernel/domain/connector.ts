/**
 * A connector: an MCP server that may be observed, with its credential, and the read operations
 * that a person has allowed, each within bounds.
 */
import { z } from 'zod'
import type { Policy } from './policy.ts'

/** Name or text of a secret: `env:NAME`, `file:PATH`, or inline and then stored encrypted. */
const secret = z.string().min(1).max(4096)

const authSchema = z.discriminatedUnion('scheme', [
  z.strictObject({ scheme: z.literal('bearer'), secret }),
  z.strictObject({
    scheme: z.literal('header'),
    secret,
    header: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/, 'a header name')
      .refine(name => !/^(?:host|content-|transfer-|connection|mcp-)/i.test(name), {
        message: 'a header that the protocol does not set itself',
      }),
  }),
  /** OAuth 2.0 client credentials (RFC 6749 section 4.4), where the MCP server says. */
  z.strictObject({
    scheme: z.literal('oauth'),
    secret,
    clientId: z.string().min(1).max(256),
    scope: z.string().min(1).max(512).optional(),
  }),
])

/** Arguments are judged by a schema without regular expressions: they may come from anybody. */
const argumentsSchema = z
  .record(z.string(), z.unknown())
  .refine(schema => !hasPattern(schema), { message: 'a JSON Schema without pattern' })
  .refine(isReadable, { message: 'a JSON Schema that can be read' })

const allowedSchema = z.strictObject({
  /** A tool's name, a resource's URI or URI template, or `event:` and the name of an MCP event. */
  operation: z.string().min(1).max(256),
  argumentsSchema: argumentsSchema.optional(),
  /** Most items of one answer; one more and the poll has failed. Default 100. */
  maxItems: z.int().min(1).max(1000).default(100),
  /** Most bytes of one answer as JSON. Default 256 KiB. */
  maxBytes: z
    .int()
    .min(1)
    .max(4 * 1024 * 1024)
    .default(256 * 1024),
  /** Ms that one call may take. Default 10 s. */
  timeoutMs: z.int().min(100).max(60_000).default(10_000),
  /**
   * What the operation's description and schema must hash to. Default: what the server offers when
   * it is read first after this was written.
   */
  hash: z.string().min(1).max(64).optional(),
  /**
   * What a call may do when an agent makes it. Default `write`, so that `authorize` is asked; what
   * the server says about itself counts for nothing.
   */
  effect: z.enum(['read', 'write', 'sensitive']).optional(),
  /** A way out for data, when an agent calls it: mail, chat, upload. Default false. */
  egress: z.boolean().optional(),
})

const common = {
  /** Who is told when the server changes or fails. Default: who writes it. */
  owner: z.string().min(1).max(128).optional(),
  allow: z.array(allowedSchema).max(200),
  /** Calls that one process makes at most. Default 10 a second, 20 at once. */
  rateLimit: z
    .strictObject({
      perSecond: z.number().positive().max(1000),
      burst: z.int().positive().max(10_000),
    })
    .default({ perSecond: 10, burst: 20 }),
}

const text = z.string().min(1).max(1024)

/** Body of `PUT /v1/connectors/{name}`. */
export const connectorSchema = z.discriminatedUnion('transport', [
  z.strictObject({
    transport: z.literal('http'),
    url: z.string().min(1).max(2048),
    auth: authSchema.optional(),
    ...common,
  }),
  z.strictObject({
    transport: z.literal('stdio'),
    /** A name that the configuration gives to a command, or that command in full. */
    command: z.union([text, z.array(text).min(1).max(64)]),
    ...common,
  }),
])

export type ConnectorInput = z.output<typeof connectorSchema>
export type Allowed = z.output<typeof allowedSchema>
export type ConnectorAuth = z.output<typeof authSchema>

/** An operation that is not what was allowed any more. */
export interface ChangedOperation {
  /** Hash of what the server offers now; `null` when it offers nothing of that name. */
  hash: string | null
  at: string
}

/** The stored form. */
export type Connector = ConnectorInput & {
  id: string
  tenant: string
  version: number
  owner: string
  /** Hash of each allowed operation as it was read first. */
  pins: Record<string, string>
  /** Operations that are not called until somebody writes the connector again. */
  changed: Record<string, ChangedOperation>
}

/** The allow-list's entry of an operation. */
export function allowedOperation(
  connector: Pick<Connector, 'allow'>,
  operation: string,
): Allowed | undefined {
  return connector.allow.find(allowed => allowed.operation === operation)
}

/** The hash that an operation must have, where it is known. */
export function pinOf(
  connector: Pick<Connector, 'allow' | 'pins'>,
  operation: string,
): string | undefined {
  const { hash } = allowedOperation(connector, operation) ?? {}
  return hash ?? (Object.hasOwn(connector.pins, operation) ? connector.pins[operation] : undefined)
}

/** Why the arguments do not fit, or undefined; without a schema everything fits. */
export function argumentsProblem(
  { argumentsSchema: schema }: Pick<Allowed, 'argumentsSchema'>,
  given: Record<string, unknown>,
): string | undefined {
  if (!schema) return undefined
  const result = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]).safeParse(given)
  if (result.success) return undefined
  const [issue] = result.error.issues
  return `${issue?.path.map(String).join('/') ?? ''}: ${issue?.message ?? 'does not fit'}`
}

/**
 * May this person observe that operation? A policy without connectors lets everybody observe what
 * is on an allow-list; one that names any lets only those observe whom it names.
 */
export function isConnectorEntitled(
  policy: Pick<Policy, 'connectors'>,
  person: string,
  { connector, operation }: { connector: string; operation: string },
): boolean {
  if (policy.connectors.length === 0) return true
  const names = (given: string, wanted: string) => given === '*' || given === wanted
  return policy.connectors.some(
    row =>
      names(row.name, connector) &&
      row.operations.some(given => names(given, operation)) &&
      row.persons.some(given => names(given, person)),
  )
}

function isReadable(schema: Record<string, unknown>): boolean {
  try {
    z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
    return true
  } catch {
    return false
  }
}

function hasPattern(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasPattern)
  return Object.entries(value).some(
    ([name, inner]) => name === 'pattern' || name === 'patternProperties' || hasPattern(inner),
  )
}
