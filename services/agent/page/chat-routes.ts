/** The chat page at `/chat`, and the sessions that it shows. */
import { PassThrough } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isPermitted, type Principal } from '#kernel/domain/principal.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Authenticate } from '#kernel/host/authenticate.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { servePage } from '#kernel/host/serve-page.ts'
import type { SessionKey } from '../loop/session-store.ts'
import type { Drafts } from './drafts.ts'
import type { SessionView } from './session-view.ts'

export interface ChatWorld {
  authenticate: Authenticate
  agent: string
  model: string
  isMock: boolean
  view(key: SessionKey): SessionView
  /** Newest first. */
  sessions(tenant: string): { session: string; at: string; isWoken: boolean }[]
  /** Calls back after every change of the session, until the returned function is called. */
  watch(key: SessionKey, onChange: () => void): () => void
  /** Answers that come right now, as far as this process gives them. */
  drafts: Pick<Drafts, 'of' | 'watch'>
}

const FILES = {
  '/chat': 'chat.html',
  '/chat/chat.js': 'chat.js',
  '/chat/words.js': 'words.js',
  '/chat/chat.css': 'chat.css',
}

const HEARTBEAT_MS = 15_000
/** Open streams of one process. */
const STREAMS_MAX = 500
/** A reader that is this far behind is cut off; it comes back and gets the newest view. */
const BEHIND_BYTES_MAX = 1024 * 1024

const params = z.strictObject({ session: z.string().min(1).max(256) })

/** Registers the page and its API. */
export function chatRoutes(app: HttpApp, world: ChatWorld): void {
  servePage(app, new URL('./web/', import.meta.url), FILES)
  app.get('/v1/agent', async request => {
    const { tenant } = await reader(world, request)
    const { agent, model, isMock } = world
    return { agent, model, mode: isMock ? 'mock' : 'real', sessions: world.sessions(tenant) }
  })
  app.get('/v1/agent/sessions/:session', { schema: { params } }, async request => {
    const { tenant } = await reader(world, request)
    return world.view({ tenant, session: request.params.session })
  })
  streamRoute(app, world)
}

/**
 * Server-sent events (HTML Living Standard, 9.2): the whole view now and after every change, and
 * the answer that is coming, or null when none is.
 */
function streamRoute(app: HttpApp, world: ChatWorld): void {
  const open = new Set<PassThrough>()
  app.get('/v1/agent/sessions/:session/stream', { schema: { params } }, async (request, reply) => {
    const { tenant } = await reader(world, request)
    if (open.size >= STREAMS_MAX) {
      throw new AmbitError('rate-limited', 'Too many open streams; close some or come back later.')
    }
    const key = { tenant, session: request.params.session }
    const stream = new PassThrough()
    const event = (name: string, data: unknown) =>
      write(stream, `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
    const send = () => event('session', world.view(key))
    const sendDraft = () => event('draft', world.drafts.of(key))
    const stops = [world.watch(key, send), world.drafts.watch(key, sendDraft)]
    const beat = setInterval(() => write(stream, ': beat\n\n'), HEARTBEAT_MS)
    beat.unref()
    open.add(stream)
    stream.once('close', () => {
      open.delete(stream)
      clearInterval(beat)
      for (const stop of stops) stop()
    })
    send()
    if (world.drafts.of(key)) sendDraft()
    reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no')
    return reply.type('text/event-stream').send(stream)
  })
  app.addHook('preClose', async () => {
    for (const stream of open) stream.end()
  })
}

function write(stream: PassThrough, text: string): void {
  if (stream.writableEnded || stream.destroyed) return
  if (stream.writableLength > BEHIND_BYTES_MAX) stream.destroy()
  else stream.write(text)
}

/** An agent has no business in other sessions; people and operators look. */
async function reader(world: ChatWorld, request: FastifyRequest): Promise<Principal> {
  const by = await world.authenticate(request)
  if (by.kind !== 'agent' && isPermitted(by, 'read')) return by
  throw new AmbitError('forbidden', 'Expected a person who may read.')
}
