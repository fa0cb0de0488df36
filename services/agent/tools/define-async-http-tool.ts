/**
 * A tool whose work is an HTTP request in the background. Its author says what it takes, which
 * request that is, and what to tell; accepting, retrying, gathering and closing are the runtime's.
 */
import { z } from 'zod'
import { argumentDigest } from './argument-digest.ts'
import type { FailedOutcome, Language, OperationSpec, Tool, ToolContext } from './tool.ts'

type Item = Record<string, unknown>

export interface AsyncHttpToolOptions {
  name: string
  description: string
  /** JSON Schema of the arguments, an object. */
  schema: Record<string, unknown>
  /** The list among the arguments whose items are independent: one request each, one closing. */
  batchField?: string
  messages: {
    /** Told at once, before any request has ended. */
    accepted(args: Item, language: Language): string
    succeeded(item: Item, language: Language): string
    failed(item: Item, outcome: FailedOutcome, language: Language): string
    /** Told instead of a request when arguments are missing; `missing` names them. */
    invalid(missing: string[], language: Language): string
  }
  retry: { maxAttempts: number; backoffMs: number }
  /** What the panel calls an item. Default: its values. */
  target?(item: Item): string
  request(item: Item): OperationRequest
  /** Accepts older shapes of the arguments. */
  normalise?(args: Item): Item
  /** Default `write`. */
  effect?: 'write' | 'sensitive'
  egress?: boolean
}

type OperationRequest = ReturnType<OperationSpec['request']>

/** The tool, to be listed in the registry. Throws for a schema that is none. */
export function defineAsyncHttpTool(options: AsyncHttpToolOptions): Tool & {
  operation: OperationSpec
} {
  const { name, description, schema, batchField, messages, retry, request } = options
  const { normalise, effect = 'write', egress } = options
  const target = options.target ?? (item => Object.values(item).map(String).join(' · '))
  return {
    ...{ name, description, effect },
    target: args => itemsOf(args, batchField).map(target).join(', '),
    ...(normalise ? { normalise } : {}),
    ...(egress === undefined ? {} : { egress }),
    schema: z.fromJSONSchema(schema) as unknown as Tool['schema'],
    parameters: schema,
    invalid: (paths, language) => messages.invalid(fieldsOf(paths), language),
    operation: {
      request,
      retry,
      succeeded: messages.succeeded,
      failed: messages.failed,
    },
    async run(args, context) {
      await context.accept(itemsOf(args, batchField).map(item => accepted(item, context)))
      const reply = messages.accepted(args, context.language)
      return { accepted: reply, reply }
    },
  }

  function accepted(item: Item, { messageId, callId }: ToolContext) {
    const digest = argumentDigest(item)
    return {
      item,
      target: target(item),
      callId: batchField === undefined ? callId : `${callId}/${digest.slice(0, 8)}`,
      idempotencyKey: `${messageId}/${name}/${digest}`,
    }
  }
}

/** One item per entry of the list; the same item named twice is one. */
function itemsOf(args: Item, batchField: string | undefined): Item[] {
  if (batchField === undefined) return [args]
  const list = args[batchField]
  const items = (Array.isArray(list) ? list : []).filter(
    (item): item is Item => typeof item === 'object' && item !== null,
  )
  return [...new Map(items.map(item => [argumentDigest(item), item])).values()]
}

/** `accesses.0.role` and `accesses.3.role` are both about `role`. */
function fieldsOf(paths: string[]): string[] {
  return [...new Set(paths.map(path => path.split('.').at(-1) ?? path))]
}
