/** Changes of an installation that may be slow: each is made once, and followed to its outcome. */
import assert from 'node:assert/strict'
import { eventually } from '#test/support/api-caller.ts'
import type { CallOptions, Cluster, ServiceName } from '#test/support/cluster.ts'

/** A change that was answered: what it made, and the moment from which it must hold. */
export interface Answered<T> {
  body: T
  answeredMs: number
}

type Caller = Pick<Cluster, 'call'>

/**
 * Sends a change again only while nobody takes it (503): right after a start the registry is new.
 * One that was taken and is slow (202) is told by its link. Rejects when it is refused.
 */
export async function change<T>(
  cluster: Caller,
  service: ServiceName,
  path: string,
  options: CallOptions,
): Promise<Answered<T>> {
  const name = `${options.method ?? 'POST'} ${path}`
  const { status, body } = await eventually(`an answer to ${name}`, async () => {
    const answer = await cluster.call(service, path, options)
    return answer.status === 503 ? JSON.stringify(answer.body) : answer
  })
  assert.ok(status < 300, `${name}: ${status} ${JSON.stringify(body)}`)
  const made = status === 202 ? await outcomeOf(cluster, service, body) : body
  return { body: made as T, answeredMs: Date.now() }
}

/** Makes a subscription under its own name as idempotency key; a name is used once. */
export async function subscribe(
  cluster: Caller,
  body: { name: string } & Record<string, unknown>,
): Promise<{ id: string; version: number }> {
  const options = { body, headers: { 'idempotency-key': body.name } }
  const path = '/v1/subscriptions'
  return (await change<{ id: string; version: number }>(cluster, 'control-plane', path, options))
    .body
}

async function outcomeOf(cluster: Caller, service: ServiceName, taken: unknown): Promise<unknown> {
  const link = String((taken as { status?: unknown } | null)?.status)
  assert.match(link, /^\/v1\/changes\//, `a status link: ${JSON.stringify(taken)}`)
  const answer = await eventually(`the outcome of ${link}`, async () => {
    const { status, body } = await cluster.call(service, link)
    if (status === 202 || status === 503) return `saw ${status}`
    return { ...(body as { status: number; body: unknown }), asked: status }
  })
  const { asked, status, body } = answer
  assert.ok(asked < 300 && status < 300, `${link}: ${JSON.stringify(answer)}`)
  return body
}
