/** `GET /v1/stream`: server-sent events of one tenant (HTML Living Standard, 9.2). */
import { PassThrough } from 'node:stream'
import { stringifyLossless } from '#kernel/domain/lossless-json.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { findDecision } from '../read-model/decision-queries.ts'
import { findNotice } from '../read-model/journal-queries.ts'
import type { LiveChange } from '../read-model/live-change.ts'
import { findMailboxChange } from '../read-model/mailbox-queries.ts'
import type { ReadModel } from '../read-model/read-model.ts'
import { permitted } from './permitted.ts'
import type { WhatHappenedWorld } from './what-happened-world.ts'

/** Proxies and browsers give a silent connection up; a comment keeps it open. */
const HEARTBEAT_MS = 15_000
/** Open streams of one process. */
const STREAMS_MAX = 500
/** A reader that is this far behind is cut off; it reads the lists and comes back. */
const BEHIND_BYTES_MAX = 1024 * 1024

/**
 * Events `decision`, `notice` and `mailbox` with the item in `data`, from now on. Nothing is
 * replayed: whoever was away asks the lists.
 */
export function streamRoutes(app: HttpApp, world: WhatHappenedWorld): void {
  const { model, clock } = world
  const open = new Set<PassThrough>()
  app.get('/v1/stream', async (request, reply) => {
    const { tenant } = await permitted(world, request, 'read')
    if (open.size >= STREAMS_MAX) {
      throw new AmbitError('rate-limited', 'Too many open streams; close some or come back later.')
    }
    const stream = new PassThrough()
    const ended = new AbortController()
    const stop = model.watch(tenant, changes => send(stream, eventsOf(model, changes)))
    open.add(stream)
    stream.once('close', () => {
      open.delete(stream)
      stop()
      ended.abort()
    })
    void beat(stream, () => clock.sleep(HEARTBEAT_MS, ended.signal))
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no')
    return reply.type('text/event-stream').send(stream)
  })
  app.addHook('preClose', async () => {
    for (const stream of open) stream.end()
  })
}

/** The first comment goes out at once, so that the client knows it is connected. */
async function beat(stream: PassThrough, pause: () => Promise<void>): Promise<void> {
  try {
    for (;;) {
      send(stream, ': beat\n\n')
      await pause()
    }
  } catch {
    // The reader has gone.
  }
}

function send(stream: PassThrough, text: string): void {
  if (text === '' || stream.writableEnded || stream.destroyed) return
  if (stream.writableLength > BEHIND_BYTES_MAX) stream.destroy()
  else stream.write(text)
}

function eventsOf(model: ReadModel, changes: LiveChange[]): string {
  let text = ''
  for (const change of changes) {
    const item = itemOf(model, change)
    // JSON has no raw line breaks, so one data line holds it.
    if (item) text += `event: ${change.kind}\ndata: ${stringifyLossless(item)}\n\n`
  }
  return text
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
