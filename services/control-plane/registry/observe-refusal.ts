/** May a subscription observe what it names? Asked when it is written; the poller asks again. */
import {
  allowedOperation,
  argumentsProblem,
  isConnectorEntitled,
} from '#kernel/domain/connector.ts'
import type { SubscriptionInput } from '#kernel/domain/subscription.ts'
import type { ChangeContext, Refusal } from './change-request.ts'
import { refuse } from './change-request.ts'

/**
 * The first rule that an observing subscription breaks. `persons` are those whose grant it needs;
 * the one on whose behalf it looks is asked too.
 */
export function observeRefusal(
  { observe, onBehalfOf }: SubscriptionInput,
  persons: string[],
  { policy, connector }: Pick<ChangeContext, 'policy' | 'connector'>,
): Refusal | undefined {
  if (!observe) return undefined
  const { connector: name, operation } = observe
  const found = connector(name)
  if (!found) {
    return refuse('invalid', `There is no connector ${name}; PUT /v1/connectors/${name} first.`, {
      pointer: '/observe/connector',
      expected: 'a connector of this tenant',
      actual: name,
    })
  }
  const allowed = allowedOperation(found, operation)
  if (!allowed) {
    return refuse('forbidden', `The connector ${name} does not allow ${operation}.`, {
      pointer: '/observe/operation',
      expected: 'an operation on its allow-list',
      actual: operation,
    })
  }
  const problem = argumentsProblem(allowed, observe.arguments)
  if (problem) {
    return refuse('invalid', `/observe/arguments: they do not fit the operation: ${problem}.`, {
      pointer: '/observe/arguments',
      expected: "arguments that fit the connector's argumentsSchema",
    })
  }
  const asked = onBehalfOf ? [...persons, onBehalfOf] : persons
  const stranger = asked.find(
    person => !isConnectorEntitled(policy, person, { connector: name, operation }),
  )
  if (stranger === undefined) return undefined
  return refuse(
    'forbidden',
    `${stranger} may not observe ${operation} of ${name}; see the policy.`,
    {
      pointer: '/observe/operation',
    },
  )
}
