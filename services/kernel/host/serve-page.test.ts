/**
 * The pages and what they share, without a host: a module that is not served leaves a page blank,
 * and only a browser would say so.
 */
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { Registry } from 'prom-client'
import { silentLogger } from '#kernel/ports/logger.ts'
import { type ChatWorld, chatRoutes } from '#services/agent/page/chat-routes.ts'
import { webRoutes } from '#services/control-plane/routes/web-routes.ts'
import { createHttpApp, type HttpApp } from './http-app.ts'

const chat = chatRoutes as (app: HttpApp, world: Partial<ChatWorld>) => void

async function appWith(...pages: ((app: HttpApp) => void)[]): Promise<HttpApp> {
  const app = await createHttpApp({
    ...{ logger: silentLogger, ids: { random: () => 'r' }, metrics: new Registry() },
    ...{ notReady: () => [], ratePerSecond: 0 },
  })
  for (const register of pages) register(app)
  return app
}

const LINKS = /(?:from |import |src=|href=)['"]([^'"]+\.(?:js|css))['"]/g

/** Every file that the page at `path` leads to, and what answered. */
async function filesOf(app: HttpApp, path: string, found = new Map<string, number>()) {
  if (found.has(path)) return found
  const { statusCode, body } = await app.inject(path)
  found.set(path, statusCode)
  for (const [, link = ''] of body.matchAll(LINKS)) {
    await filesOf(app, new URL(link, `http://host${path}`).pathname, found)
  }
  return found
}

describe('a page', () => {
  let both: HttpApp
  before(async () => {
    both = await appWith(webRoutes, app => chat(app, {}))
  })

  for (const path of ['/', '/chat']) {
    it(`finds all that it leads to, at ${path}`, async () => {
      const found = await filesOf(both, path)
      assert.ok(found.has('/kernel/web/call.js') && found.has('/kernel/web/page.css'))
      assert.deepEqual(
        [...found].filter(([, status]) => status !== 200),
        [],
      )
    })
  }

  it('brings along what all pages share where it is served alone', async () => {
    const alone = await appWith(app => chat(app, {}))
    assert.equal((await alone.inject('/kernel/web/call.js')).statusCode, 200)
  })

  it('lets nothing in from elsewhere, and serves nothing unnamed', async () => {
    const { headers } = await both.inject('/kernel/web/call.js')
    assert.match(String(headers['content-security-policy']), /default-src 'none'/)
    for (const path of ['/kernel/web/', '/kernel/errors.ts', '/kernel/web/../errors.ts']) {
      assert.equal((await both.inject(path)).statusCode, 404)
    }
  })
})
