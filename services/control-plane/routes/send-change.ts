/** How answers of the registry become HTTP answers. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AmbitError } from '#kernel/errors.ts'
import type { ChangeResult } from '#kernel/host/registry-client.ts'

/** The object with its status, or 202 with a status link and what is known already. */
export function sendChange(
  reply: FastifyReply,
  result: ChangeResult,
  view: (doc: unknown) => unknown = doc => doc,
  pending: Record<string, unknown> = {},
): FastifyReply {
  if (result.kind === 'answered') {
    const version = (result.body as { version?: number } | null)?.version
    if (version !== undefined) reply.header('etag', `"${version}"`)
    return reply.code(result.status).send(result.body === null ? {} : view(result.body))
  }
  const link = `/v1/changes/${result.changeId}`
  return reply
    .code(202)
    .header('location', link)
    .send({ ...pending, changeId: result.changeId, status: link })
}

/** `If-Match: "3"` or `3`; `null` when absent or `*`. */
export function ifMatchOf(request: Pick<FastifyRequest, 'headers'>): number | null {
  const value = request.headers['if-match']
  if (value === undefined || value.trim() === '*') return null
  const version = /^\s*(?:W\/)?"?(\d{1,15})"?\s*$/.exec(value)?.[1]
  if (version !== undefined) return Number(version)
  throw new AmbitError('bad-request', 'If-Match: expected a version such as "3".', {
    expected: 'a version such as "3"',
    actual: 'another text',
  })
}
