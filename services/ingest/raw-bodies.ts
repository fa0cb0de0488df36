/** A scope of the application in which every body arrives as the bytes on the wire. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HttpApp } from '#kernel/host/http-app.ts'

/** A request whose body is the bytes on the wire. */
export type RawRequest = FastifyRequest<{ Body: Buffer; Params: Record<string, string> }>
type RawHandler = (request: RawRequest, reply: FastifyReply) => Promise<unknown>

/** Registers routes that read bytes. */
export interface RawApp {
  get(path: string, handler: RawHandler): void
  post(path: string, handler: RawHandler): void
  put(path: string, handler: RawHandler): void
  delete(path: string, handler: RawHandler): void
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
    const on =
      (method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS') =>
      (url: string, handler: RawHandler) => {
        scope.route({
          method,
          url,
          handler: (request, reply) => handler(request as RawRequest, reply),
        })
      }
    register({
      ...{ get: on('GET'), post: on('POST'), put: on('PUT') },
      ...{ delete: on('DELETE'), options: on('OPTIONS') },
    })
  })
}
