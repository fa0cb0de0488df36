/** One case's own corner of a shared host: an agent, a source and subscriptions nobody else has. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Limits, Subscription } from '#services/client/api.ts'
import type { Decision } from '#services/client/api-history.ts'
import type { ClaimedMessage } from '#services/client/api-mailbox.ts'
import { type Api, eventually } from '#test/support/api-caller.ts'
import type { BackboneKind, HostProcess } from '#test/support/host-process.ts'

export interface ApiWorld {
  kind: BackboneKind
  host: HostProcess
  /** The administrator of tenant `local`. */
  api: Api
  /** An administrator, or somebody else, of a tenant of one's own. */
  inTenant(tenant: string, subject?: string, roles?: string[]): Promise<Api>
}

/** The world is there when a case runs, not yet when it is declared. */
export type GetWorld = () => ApiWorld

export interface Scene {
  api: Api
  agent: string
  source: string
  /** Creates a subscription of the scene's agent to the scene's source. */
  subscribe(limits?: Limits, over?: Record<string, unknown>): Promise<Subscription>
  /** Publishes one event of the scene's source; its id. */
  send(over?: Record<string, unknown>): Promise<string>
  /** Sends and waits for the decision. */
  fate(subscription: Subscription, over?: Record<string, unknown>): Promise<Decision>
  /** Claims one message, which must come. */
  take(options?: Parameters<Api['claim']>[1]): Promise<ClaimedMessage>
  /** Waits until the subscription is in that operation. */
  becomes(subscription: Subscription, operation: string): Promise<Subscription>
}

/** A scene; `name` starts its agent and its source. */
export function createScene(api: Api, name: string): Scene {
  const agent = `${name}-${randomUUID().slice(0, 6)}`
  const source = `/e2e/${agent}`
  const scene: Scene = {
    api,
    agent,
    source,
    subscribe: (limits, over = {}) =>
      api.ok<Subscription>('POST', '/v1/subscriptions', {
        ...{ name: agent, agent, instruction: `Look at ${name}.`, on: { sources: [source] } },
        ...(limits ? { limits } : {}),
        ...over,
      }),
    async send(over = {}) {
      const [id] = await api.publish({ source, type: 'e2e.happened', ...over })
      assert.ok(id)
      return id
    },
    fate: async (subscription, over) => api.decision(subscription.id, await scene.send(over)),
    async take(options) {
      const [item] = await api.claim(agent, options)
      assert.ok(item, `a message for ${agent}`)
      return item
    },
    becomes: (subscription, operation) =>
      eventually(`${agent} ${operation}`, async () => {
        const now = await api.subscription(subscription.id)
        return now.state.operation === operation ? now : `is ${now.state.operation}`
      }),
  }
  return scene
}

/** Asserts a problem document (RFC 9457) with our members. */
export function assertProblem(
  answer: { status: number; json: unknown; text: string; headers: Record<string, unknown> },
  status: number,
  code: string,
): Record<string, unknown> {
  assert.equal(answer.status, status, answer.text.slice(0, 500))
  assert.match(String(answer.headers['content-type']), /^application\/problem\+json/)
  const problem = answer.json as Record<string, unknown>
  assert.equal(problem.code, code, answer.text)
  assert.equal(problem.status, status)
  assert.equal(problem.type, `urn:ambit:error:${code}`)
  for (const member of ['title', 'detail', 'requestId']) {
    assert.equal(typeof problem[member], 'string', `${member} of ${answer.text}`)
  }
  return problem
}
