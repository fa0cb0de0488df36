/** A page for people: static files, which ask the API with the key of who looks. */
import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { HttpApp } from '#kernel/host/http-app.ts'

/**
 * What every page shares. Pages import it by its place in the source tree; a browser takes the
 * steps above its root away, so that the same words lead there in both.
 */
const SHARED = [
  'call.js',
  'dom.js',
  'follow-stream.js',
  'kept-key.js',
  'language.js',
  'page.css',
  'shared-words.js',
]
const SHARED_PATH = '/kernel/web/'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}

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

/**
 * Serves files of `folder` at the paths that name them, and what all pages share. Files are named
 * one by one: nothing else is served. They are read once, so that a missing one stops the start.
 */
export function servePage(app: HttpApp, folder: URL, files: Record<string, string>): void {
  for (const [path, file] of Object.entries(files)) serve(app, path, new URL(file, folder))
  // Another page of this process may have served them already.
  if (app.hasRoute({ method: 'GET', url: `${SHARED_PATH}${SHARED[0]}` })) return
  for (const file of SHARED)
    serve(app, SHARED_PATH + file, new URL(`../web/${file}`, import.meta.url))
}

function serve(app: HttpApp, path: string, file: URL): void {
  const type = TYPES[extname(file.pathname)] ?? 'application/octet-stream'
  const body = readFileSync(file)
  app.get(path, { schema: { hide: true } }, async (_request, reply) =>
    reply.headers(HEADERS).type(type).send(body),
  )
}
