import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultAgent } from '#kernel/domain/agent.ts'
import { createCalendarBook } from '#kernel/domain/calendar/calendar-book.ts'
import { defaultPolicy } from '#kernel/domain/policy.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import type { Directory } from '#kernel/host/directory.ts'
import { applySubscription } from './apply-subscription.ts'
import { changeContext } from './change-context.ts'
import { isRefusal, type RegistryObject } from './change-request.ts'

const NOW = Date.UTC(2026, 10, 30, 12)
const admin: Principal = { tenant: 'acme', kind: 'person', id: 'root', roles: ['admin'] }
const directory = {
  policy: () => defaultPolicy('acme'),
  agent: (tenant: string, id: string) => defaultAgent(tenant, id),
  connector: () => undefined,
} as Partial<Directory> as Directory
const calendars = { book: createCalendarBook() }
const context = changeContext({ directory, calendars }, 'acme', { startsAt: {}, now: NOW })

type Current = RegistryObject<Subscription> | undefined

function change(current: Current, action: string, body: unknown = null, by: Principal = admin) {
  return applySubscription(
    current,
    {
      ...{ changeId: 'x', tenant: 'acme', kind: 'subscription', id: 's1', action, body, by },
      ...{ reason: action, ifVersion: null },
    },
    context,
  )
}

function applied(...given: Parameters<typeof change>): RegistryObject<Subscription> {
  const result = change(...given)
  if (isRefusal(result)) throw new Error(result.message)
  return result.next
}

const written = { name: 'x', agent: 'triage', instruction: 'Look.', on: {} }
const until = '2026-12-01T09:00:00Z'

describe('a suspension', () => {
  const suspended = () => applied(applied(undefined, 'create', written), 'suspend')
  it('is not lifted by a pause that ends by itself', () => {
    const refused = change(suspended(), 'pause', { until })
    assert.ok(isRefusal(refused))
    assert.deepEqual([refused.refused, refused.facts?.pointer], ['conflict', '/until'])
  })
  it('becomes a pause without an end, or ends by a resume', () => {
    assert.equal(applied(suspended(), 'pause').doc.state.operation, 'paused')
    assert.equal(applied(suspended(), 'resume').doc.state.operation, 'active')
  })
})

describe('the origin', () => {
  const under = { messageId: 'm1', onBehalfOf: 'user:ana' }
  const agent: Principal = { tenant: 'acme', kind: 'agent', id: 'triage', roles: [], under }
  const selfish = (id: string) => ({
    ...defaultAgent('acme', id),
    capabilities: { selfSubscribe: true },
  })
  const asked = (body: object) =>
    applySubscription(
      undefined,
      {
        ...{ changeId: 'x', tenant: 'acme', kind: 'subscription', id: 's1', action: 'create' },
        ...{ body: { ...written, ...body }, by: agent, reason: 'create', ifVersion: null },
      },
      { ...context, agent: selfish },
    )
  it('names the message and the person that the lease proved', () => {
    const made = asked({})
    assert.ok(!isRefusal(made))
    const { origin, owner, onBehalfOf } = made.next.doc
    const proved = { messageId: 'm1', onBehalfOf: 'user:ana' }
    assert.deepEqual(origin, { kind: 'agent', id: 'triage', ...proved })
    assert.deepEqual([owner, onBehalfOf], ['user:ana', 'user:ana'])
  })
  it('lets no agent speak for somebody else', () => {
    for (const forged of [{ onBehalfOf: 'user:bo' }, { owner: 'user:bo' }]) {
      const refused = asked(forged)
      assert.ok(isRefusal(refused), JSON.stringify(forged))
      assert.equal(refused.refused, 'forbidden')
    }
  })
})
