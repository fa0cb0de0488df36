/** Lets the model say how the work of this conversation goes. */
import { z } from 'zod'
import type { SessionKey } from '../loop/session-store.ts'
import { byAge, type Operation } from '../operations/operation.ts'
import type { Tool } from './tool.ts'

const schema = z.strictObject({})
const LISTED_MAX = 30

/** A read of the session's own operations, newest last. */
export function listOperations(ofSession: (key: SessionKey) => Promise<Operation[]>): Tool {
  return {
    name: 'list_operations',
    description: 'Lists the operations of this conversation and how each of them stands.',
    schema,
    parameters: { ...z.toJSONSchema(schema) },
    effect: 'read',
    isTrusted: true,
    async run(_args, key) {
      const all = (await ofSession(key)).toSorted(byAge)
      const operations = all
        .slice(-LISTED_MAX)
        .map(({ tool, target, state, attempts, outcome }) => ({
          ...{ tool, target, state, attempts },
          ...(outcome?.ok === false ? { why: outcome.why } : {}),
        }))
      return JSON.stringify({ operations })
    },
  }
}
