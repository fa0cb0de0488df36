import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AgentInput as CheckedAgent } from '#kernel/domain/agent.ts'
import { FATES } from '#kernel/domain/fate.ts'
import type { Limits as StoredLimits } from '#kernel/domain/limits.ts'
import type { MessageView } from '#kernel/domain/message-view.ts'
import type { PolicyInput as CheckedPolicy } from '#kernel/domain/policy.ts'
import { ROLES } from '#kernel/domain/principal.ts'
import type { Source } from '#kernel/domain/source.ts'
import type { Subscription as StoredSubscription } from '#kernel/domain/subscription.ts'
import type {
  AgentInput,
  Fate,
  Limits,
  Message,
  PolicyInput,
  Role,
  SourceInput,
  Subscription,
} from './api.ts'

/** Compiles only if every value of the first type is one of the second. */
type Fits<Given, Wanted> = Given extends Wanted ? true : never

// The hand-written types are compared with what the services check and answer, by the compiler.
const answered: [
  Fits<MessageView, Message>,
  Fits<StoredSubscription, Subscription>,
  Fits<StoredLimits, Limits>,
] = [true, true, true]
const taken: [
  Fits<AgentInput, CheckedAgent>,
  Fits<PolicyInput, CheckedPolicy>,
  Fits<SourceInput, Source>,
] = [true, true, true]

describe('the types of the API', () => {
  it('fit what the services take and answer', () => {
    assert.equal([...answered, ...taken].length, 6)
  })

  it('name every fate and every role', () => {
    const fates = [...FATES] satisfies Fate[]
    const roles = [...ROLES] satisfies Role[]
    assert.ok(fates.length > 0 && roles.length > 0)
  })
})
