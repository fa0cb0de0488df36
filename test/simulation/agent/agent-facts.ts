/** What happened around the agents and is in no log: calls, effects, ends of turns. */
import type { Facts } from '../facts.ts'
import { createFacts } from '../facts.ts'

/** A request as the outside service took it. */
export interface SeenRequest {
  key: string
  /** JSON of what was asked. */
  body: string
  /** True once the service did it; repeats of a key do nothing more. */
  isEffect: boolean
}

/** `authorize` of the mailbox allowed an effect. */
export interface SeenPermit {
  messageId: string
  handle: string
  tool: string
  calledAt: number
}

export interface AgentFacts extends Facts {
  requests: SeenRequest[]
  permits: SeenPermit[]
  /** Texts in answers of a model that were cut off: none of them may be executed. */
  cutOff: string[]
  /** Reasons of `stopped` records. */
  stops: Map<string, number>
  /** Turns that were accepted, by message id. */
  turns: Map<string, string>
  /** Arguments of `pay` that a person said yes to. */
  approved: Set<string>
}

export function createAgentFacts(): AgentFacts {
  return {
    ...createFacts(),
    ...{ requests: [], permits: [], cutOff: [] },
    ...{ stops: new Map(), turns: new Map(), approved: new Set() },
  }
}
