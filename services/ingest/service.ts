/** Wiring of the door: events and webhooks in, ingress topics out. */
import type { HttpApp } from '#kernel/host/http-app.ts'
import { type EventRoutesWorld, eventRoutes } from './event-routes.ts'
import { withRawBodies } from './raw-bodies.ts'
import { type WebhookRoutesWorld, webhookRoutes } from './webhook-routes.ts'

/** Adds the ingest routes to an application. */
export async function registerIngest(
  app: HttpApp,
  world: EventRoutesWorld & WebhookRoutesWorld,
): Promise<void> {
  await withRawBodies(app, raw => {
    eventRoutes(raw, world)
    webhookRoutes(raw, world)
  })
}
