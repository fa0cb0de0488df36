/** The console at `/`. */
import type { HttpApp } from '#kernel/host/http-app.ts'
import { servePage } from '#kernel/host/serve-page.ts'

const FILES = [
  'api.js',
  'app.js',
  'approvals.js',
  'codes-en.js',
  'codes-es.js',
  'contract.js',
  'notices.js',
  'parts.js',
  'quotes.js',
  'schedule.js',
  'style.css',
  'subscriptions.js',
  'system.js',
  'test-now.js',
  'trace.js',
  'verdict.js',
  'words.js',
  'words-en.js',
  'words-es.js',
]

/** Registers the page. */
export function webRoutes(app: HttpApp): void {
  const named = Object.fromEntries(FILES.map(file => [`/${file}`, file]))
  servePage(app, new URL('../web/', import.meta.url), { '/': 'index.html', ...named })
}
