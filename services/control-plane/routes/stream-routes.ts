/** `GET /v1/stream`: what happens in one tenant, as it happens. */
import { createEventStreams } from '#kernel/host/event-streams.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { findDecision } from '../read-model/decision-queries.ts'
import { findNotice } from '../read-model/journal-queries.ts'
import type { LiveChange } from '../read-model/live-change.ts'
import { findMailboxChange } from '../read-model/mailbox-queries.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

/**
 * Events `decision`, `notice` and `mailbox` with the item in `data`, from now on. Nothing is
 * replayed: whoever was away asks the lists.
 */
export function streamRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  const { model, clock } = world
  const streams = createEventStreams(app, clock)
  app.get('/v1/stream', async (request, reply) => {
    const { tenant } = await permitted(world, request, 'read')
    return streams.answer(reply, send =>
      model.watch(tenant, changes => {
        for (const change of changes) {
          const item = itemOf(model, change)
          if (item) send(change.kind, item)
        }
      }),
    )
  })
}

function itemOf(model: ReadModel, change: LiveChange): object | undefined {
  switch (change.kind) {
    case 'decision':
      return findDecision(model, change.candidateId)
    case 'notice':
      return findNotice(model, change.tenant, change.id)
    case 'mailbox':
      return findMailboxChange(model, change.messageId)
  }
}
