/** A target of activations: one mailbox, its capabilities and its delivery bounds. */
import { z } from 'zod'

/** What `PUT /v1/agents/{id}` takes and `GET` answers. */
export const agentSchema = z.strictObject({
  name: z.string().min(1).max(128).optional(),
  capabilities: z.strictObject({ selfSubscribe: z.boolean().default(false) }).prefault({}),
  /** Messages of this mailbox leased at once. Default 1. */
  maxConcurrentLeases: z.int().min(1).max(10_000).default(1),
  /** Attempts before a message is dead. Default 5. */
  maxAttempts: z.int().min(1).max(100).default(5),
  /** First backoff in ms, doubling to 60 000. Default 1000. */
  backoffMs: z.int().min(0).max(3_600_000).default(1000),
  push: z.strictObject({ url: z.url() }).optional(),
})

export type AgentInput = z.input<typeof agentSchema>

/** The stored form. `stopped` holds the reason while a person has stopped the agent. */
export type Agent = z.output<typeof agentSchema> & {
  id: string
  tenant: string
  version: number
  stopped?: { reason: string; by: string; at: string }
}

/** An agent nobody has described yet. */
export function defaultAgent(tenant: string, id: string): Agent {
  return { ...agentSchema.parse({}), name: id, id, tenant, version: 0 }
}
