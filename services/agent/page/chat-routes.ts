/** The chat page at `/chat`, and the sessions that it shows. */
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { isPermitted, type Principal } from '#kernel/domain/principal.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Authenticate } from '#kernel/host/authenticate.ts'
import { createEventStreams } from '#kernel/host/event-streams.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { servePage } from '#kernel/host/serve-page.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { SessionKey } from '../loop/session-store.ts'
import type { Drafts } from './drafts.ts'
import type { SessionView } from './session-view.ts'

export interface ChatWorld {
  authenticate: Authenticate
  clock: Pick<Clock, 'sleep'>
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

/** The whole view now and after every change, and the answer that is coming, or null. */
function streamRoute(app: HttpApp, world: ChatWorld): void {
  const streams = createEventStreams(app, world.clock)
  app.get('/v1/agent/sessions/:session/stream', { schema: { params } }, async (request, reply) => {
    const { tenant } = await reader(world, request)
    const key = { tenant, session: request.params.session }
    return streams.answer(reply, send => {
      const sendView = () => send('session', world.view(key))
      const sendDraft = () => send('draft', world.drafts.of(key))
      const stops = [world.watch(key, sendView), world.drafts.watch(key, sendDraft)]
      sendView()
      if (world.drafts.of(key)) sendDraft()
      return () => {
        for (const stop of stops) stop()
      }
    })
  })
}

/** An agent has no business in other sessions; people and operators look. */
async function reader(world: ChatWorld, request: FastifyRequest): Promise<Principal> {
  const by = await world.authenticate(request)
  if (by.kind !== 'agent' && isPermitted(by, 'read')) return by
  throw new AmbitError('forbidden', 'Expected a person who may read.')
}
