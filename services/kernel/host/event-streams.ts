/** Server-sent events (HTML Living Standard, 9.2): the open streams of one route. */
import { PassThrough } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { stringifyLossless } from '#kernel/domain/lossless-json.ts'
import { AmbitError } from '#kernel/errors.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import type { HttpApp } from './http-app.ts'

/** Proxies and browsers give a silent connection up; a comment keeps it open. */
const HEARTBEAT_MS = 15_000
/** Open streams of one route in one process. */
const STREAMS_MAX = 500
/** A reader that is this far behind is cut off; it comes back and reads anew. */
const BEHIND_BYTES_MAX = 1024 * 1024

/** Sends one event; `data` is written as JSON. To a reader that has gone it sends nothing. */
export type SendEvent = (name: string, data: unknown) => void

export interface EventStreams {
  /**
   * Answers a request with a stream. `begin` sends what the reader gets at once and gives back how
   * to stop sending; that is called once, when the reader has gone or the process ends.
   * @throws AmbitError `rate-limited` when too many are open.
   */
  answer(reply: Pick<FastifyReply, 'headers'>, begin: (send: SendEvent) => () => void): PassThrough
}

/** Streams that end when the application closes. */
export function createEventStreams(app: HttpApp, clock: Pick<Clock, 'sleep'>): EventStreams {
  const open = new Set<PassThrough>()
  app.addHook('preClose', async () => {
    for (const stream of open) stream.end()
  })
  return {
    answer(reply, begin) {
      if (open.size >= STREAMS_MAX) {
        throw new AmbitError(
          'rate-limited',
          'Too many open streams; close some or come back later.',
        )
      }
      const stream = new PassThrough()
      // JSON has no raw line breaks, so one data line holds it.
      const stop = begin((name, data) =>
        write(stream, `event: ${name}\ndata: ${stringifyLossless(data)}\n\n`),
      )
      const ended = new AbortController()
      open.add(stream)
      stream.once('close', () => {
        open.delete(stream)
        stop()
        ended.abort()
      })
      void beat(stream, () => clock.sleep(HEARTBEAT_MS, ended.signal))
      reply.headers({
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      return stream
    },
  }
}

/** The first comment goes out at once, so that the client knows it is connected. */
async function beat(stream: PassThrough, pause: () => Promise<void>): Promise<void> {
  try {
    for (;;) {
      write(stream, ': beat\n\n')
      await pause()
    }
  } catch {
    // The reader has gone.
  }
}

function write(stream: PassThrough, text: string): void {
  if (stream.writableEnded || stream.destroyed) return
  if (stream.writableLength > BEHIND_BYTES_MAX) stream.destroy()
  else stream.write(text)
}
