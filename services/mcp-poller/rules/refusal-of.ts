/** Whether an observation may be polled at all, as connector and policy are now. */
import {
  type Allowed,
  allowedOperation,
  argumentsProblem,
  type Connector,
  isConnectorEntitled,
  pinOf,
} from '#kernel/domain/connector.ts'
import type { McpOffer } from '#kernel/domain/mcp-offer.ts'
import type { Policy } from '#kernel/domain/policy.ts'
import type { Observation } from './observation-book.ts'
import type { PollResult } from './poll-result.ts'

type Refused = Extract<PollResult, { kind: 'refused' | 'unpinned' }>

/** The operation with its connector, or why it is not called. Asked before every poll. */
export function permissionOf(
  { observe, scope }: Pick<Observation, 'observe' | 'scope'>,
  connector: Connector | undefined,
  policy: Pick<Policy, 'connectors'>,
): { kind: 'permitted'; connector: Connector; allowed: Allowed } | Refused {
  if (!connector) return { kind: 'refused', refusal: 'no-connector' }
  const { connector: name, operation } = observe
  const allowed = allowedOperation(connector, operation)
  if (!allowed) return { kind: 'refused', refusal: 'not-allowed' }
  if (argumentsProblem(allowed, observe.arguments)) {
    return { kind: 'refused', refusal: 'bad-arguments' }
  }
  if (!isConnectorEntitled(policy, scope, { connector: name, operation })) {
    return { kind: 'refused', refusal: 'not-entitled' }
  }
  if (Object.hasOwn(connector.changed, operation)) {
    const hash = connector.changed[operation]?.hash ?? null
    return { kind: 'refused', refusal: 'operation-changed', hash, isFlagged: true }
  }
  return { kind: 'permitted', connector, allowed }
}

/** Is what the server offers what was allowed? Undefined where it is. */
export function driftOf(
  connector: Connector,
  operation: string,
  offers: readonly McpOffer[],
): Refused | undefined {
  const hash = offers.find(offer => offer.operation === operation)?.hash ?? null
  const pin = pinOf(connector, operation)
  if (pin === undefined && hash !== null) return { kind: 'unpinned', hash }
  if (hash !== null && hash === pin) return undefined
  return { kind: 'refused', refusal: 'operation-changed', hash }
}
