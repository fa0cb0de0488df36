/**
 * The HttpSender of Node: judges the address, then connects to exactly what it judged. What a
 * name means is asked anew at every call, since it may have changed since the last one (I16).
 */
import { type HttpSender, type SendAnswer, SendFailure } from '#kernel/ports/http-sender.ts'
import { createAddressJudge, type JudgeOptions } from './judge-address.ts'
import { type Exchange, pinnedRequest } from './pinned-request.ts'

/** How long `check` waits for DNS, ms. */
const CHECK_TIMEOUT_MS = 5000

export interface NodeHttpSenderOptions extends JudgeOptions {
  /** Connects to one of the addresses and nothing else. Default: Node's HTTP. */
  connect?(exchange: Exchange): Promise<SendAnswer>
}

/** Creates a sender; see the port for its promises. */
export function createNodeHttpSender(options: NodeHttpSenderOptions = {}): HttpSender {
  const { connect = pinnedRequest } = options
  const judge = createAddressJudge(options)
  return {
    async send({ url: text, timeoutMs, ...sent }) {
      return within(timeoutMs, async signal => {
        const { url, addresses } = await before(signal, judge(text))
        return connect({ ...sent, url, addresses, signal })
      })
    },
    async check(text) {
      await within(CHECK_TIMEOUT_MS, signal => before(signal, judge(text)))
    },
  }
}

/** Aborts the signal when the time is over; every failure becomes one of the words. */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const end = new AbortController()
  const timer = setTimeout(() => end.abort(), ms)
  try {
    return await work(end.signal)
  } catch (error) {
    throw error instanceof SendFailure ? error : new SendFailure('connection-failed')
  } finally {
    clearTimeout(timer)
  }
}

/** The work's result, unless the signal comes first: a look-up cannot be cancelled, only left. */
async function before<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const over = Promise.withResolvers<never>()
  const leave = () => over.reject(new SendFailure('timeout'))
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([work, over.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
