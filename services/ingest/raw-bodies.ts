/** A scope of the application in which every body arrives as the bytes on the wire. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpApp } from '#kernel/host/http-app.ts'

type RawRequest = FastifyRequest<{ Body: Buffer; Params: Record<string, string> }>
type RawHandler = (request: RawRequest, reply: FastifyReply) => Promise<unknown>

/** Registers routes that read bytes. */
export interface RawApp {
  post(path: string, handler: RawHandler): void
  options(path: string, handler: RawHandler): void
}

/** Opens the scope; whatever the content type says, nothing is parsed before the route. */
export async function withRawBodies(app: HttpApp, register: (raw: RawApp) => void): Promise<void> {
  await app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
      done(null, body)
    })
    scope.addHook('preValidation', async request => {
      if (!Buffer.isBuffer(request.body)) request.body = Buffer.alloc(0)
    })
    const on = (method: 'POST' | 'OPTIONS') => (url: string, handler: RawHandler) => {
      scope.route({
        method,
        url,
        handler: (request, reply) => handler(request as RawRequest, reply),
      })
    }
    register({ post: on('POST'), options: on('OPTIONS') })
  })
}
