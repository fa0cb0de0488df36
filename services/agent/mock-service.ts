/**
 * What the example tools post to until somebody names a real service. It is slow on purpose, does
 * one thing per idempotency key, and fails where the request asks for it:
 * a value with `fail` is refused for good, one with `flaky` succeeds at the second attempt.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'

export const MOCK_PATHS = { access: '/mock/access/provision', ticket: '/mock/tickets' } as const

/** Keys that are remembered. */
const KEYS_MAX = 10_000
const body = z.record(z.string(), z.unknown())

export function mockServiceRoutes(app: HttpApp, { delayMs }: { delayMs: number }): void {
  const done = new Map<string, { status: string; count: number }>()
  const flaky = new Set<string>()
  const perform = async (key: string | undefined, request: Record<string, unknown>) => {
    if (!key) throw new AmbitError('bad-request', 'Expected the header idempotency-key.')
    await pause(delayMs, undefined, { ref: false })
    const values = Object.values(request).join(' ')
    if (/fail/i.test(values)) throw new AmbitError('invalid', 'The request asks to be refused.')
    if (/flaky/i.test(values) && !flaky.has(key)) {
      if (flaky.size < KEYS_MAX) flaky.add(key)
      throw new AmbitError('not-ready', 'The request asks to fail once.')
    }
    const known = done.get(key)
    if (done.size >= KEYS_MAX) done.delete(done.keys().next().value ?? '')
    done.set(key, { status: 'done', count: (known?.count ?? 0) + 1 })
    return { status: 'done', isRepeat: known !== undefined }
  }
  for (const path of Object.values(MOCK_PATHS)) {
    app.post(path, { schema: { hide: true, body } }, async request => {
      const key = request.headers['idempotency-key']
      return perform(typeof key === 'string' ? key : undefined, request.body)
    })
  }
}
