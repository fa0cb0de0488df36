/** The console: static files at `/`, which ask the API with the key of who looks. */
import { readFileSync } from 'node:fs'
import type { HttpApp } from '#kernel/host/http-app.ts'

/** Named one by one: nothing else of the folder is served. */
const SCRIPTS = [
  'api.js',
  'app.js',
  'approvals.js',
  'contract.js',
  'dom.js',
  'notices.js',
  'quotes.js',
  'schedule.js',
  'subscriptions.js',
  'system.js',
  'test-now.js',
  'trace.js',
  'verdict.js',
  'words.js',
  'words-en.js',
  'words-es.js',
]

const FILES = [
  { path: '/', file: 'index.html', type: 'text/html; charset=utf-8' },
  { path: '/style.css', file: 'style.css', type: 'text/css; charset=utf-8' },
  ...SCRIPTS.map(file => ({ path: `/${file}`, file, type: 'text/javascript; charset=utf-8' })),
]

/** Nothing inline, nothing from elsewhere, nowhere to send a form, no frame around it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-cache',
}

/** Registers the page; the files are read once, so that a missing one stops the start. */
export function webRoutes(app: HttpApp): void {
  for (const { path, file, type } of FILES) {
    const body = readFileSync(new URL(`../web/${file}`, import.meta.url))
    app.get(path, { schema: { hide: true } }, async (_request, reply) =>
      reply.headers(HEADERS).type(type).send(body),
    )
  }
}
