import type { HttpApp } from '#kernel/host/http-app.ts'
import { approvalRoutes } from './approval-routes.ts'
import { auditRoutes } from './audit-routes.ts'
import { deadLetterRoutes } from './dead-letter-routes.ts'
import { decisionRoutes } from './decision-routes.ts'
import { erasureRoutes } from './erasure-routes.ts'
import { explainRoutes } from './explain-routes.ts'
import { mailboxReadingRoutes } from './mailbox-reading-routes.ts'
import { noticeRoutes } from './notice-routes.ts'
import { streamRoutes } from './stream-routes.ts'
import { systemRoutes } from './system-routes.ts'
import { traceRoutes } from './trace-routes.ts'
import { usageRoutes } from './usage-routes.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

/** Registers everything that tells what happened; each resource has a file of its own. */
export function whatHappenedRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  decisionRoutes(app, world)
  traceRoutes(app, world)
  explainRoutes(app, world)
  streamRoutes(app, world)
  noticeRoutes(app, world)
  deadLetterRoutes(app, world)
  auditRoutes(app, world)
  mailboxReadingRoutes(app, world)
  approvalRoutes(app, world)
  usageRoutes(app, world)
  systemRoutes(app, world)
  erasureRoutes(app, world)
}
