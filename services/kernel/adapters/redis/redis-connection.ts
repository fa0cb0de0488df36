/**
 * One connection that comes back by itself. A call never waits for a lost connection and is never
 * sent twice: a commit that ran unseen must not run again behind its caller's back.
 */
import { Redis } from 'ioredis'
import { AmbitError } from '../../errors.ts'
import type { RedisScript } from './redis-scripts.ts'

export interface RedisConnectionOptions {
  /** `redis://` or `rediss://`, with user, password and database where needed. */
  url: string
  /** A call without an answer rejects after this. Default 2000 ms. */
  commandTimeoutMs?: number
  /** How long the first connection may take. Default 10 000 ms. */
  connectTimeoutMs?: number
  /** Told about every failed or broken connection; retries go on meanwhile. */
  onError?(error: Error): void
}

export interface RedisConnection {
  /** Runs a script; rejects `store-unavailable`, and then it may have run all the same. */
  run(script: RedisScript, keys: string[], args: string[]): Promise<unknown>
  stop(): Promise<void>
}

const RECONNECT_MAX_MS = 2_000

/**
 * Connects and checks the server. Rejects `store-unavailable` when there is none in time, or
 * when it would evict keys: a store that forgets single keys cannot be noticed by the fence.
 */
export async function openRedisConnection(
  options: RedisConnectionOptions,
): Promise<RedisConnection> {
  const client = createClient(options)
  client.on('error', (error: Error) => options.onError?.(error))
  try {
    await untilReady(client, options.connectTimeoutMs ?? 10_000)
    refuseEviction(await client.info('memory'))
  } catch (error) {
    client.disconnect()
    throw unavailable(error)
  }
  return {
    run: (script, keys, args) => runScript(client, script, keys, args),
    stop: () => close(client),
  }
}

function createClient({ url, commandTimeoutMs = 2_000 }: RedisConnectionOptions): Redis {
  return new Redis(url, {
    commandTimeout: commandTimeoutMs,
    // A half-open connection is given up when nothing at all comes back.
    socketTimeout: 2 * commandTimeoutMs,
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: attempt => Math.min(50 * 2 ** Math.min(attempt, 10), RECONNECT_MAX_MS),
    // After a failover the old primary answers so until the connection is made anew.
    reconnectOnError: error => error.message.startsWith('READONLY'),
  })
}

function untilReady(client: Redis, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let reason: Error | undefined
    const keepReason = (error: Error) => {
      reason = error
    }
    const timer = setTimeout(() => {
      client.off('error', keepReason)
      reject(reason ?? new Error(`no answer within ${timeoutMs} ms`))
    }, timeoutMs)
    client.on('error', keepReason)
    client.once('ready', () => {
      clearTimeout(timer)
      client.off('error', keepReason)
      resolve()
    })
  })
}

function refuseEviction(info: string): void {
  const setting = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1]
  const policy = setting('maxmemory_policy') ?? 'noeviction'
  if (setting('maxmemory') === '0' || policy === 'noeviction') return
  throw new AmbitError(
    'store-unavailable',
    `Redis must have maxmemory-policy noeviction, found ${policy}: it would drop state ` +
      'unnoticed. Set noeviction, or use another Redis.',
    { expected: 'noeviction', actual: policy },
  )
}

async function runScript(
  client: Redis,
  script: RedisScript,
  keys: string[],
  args: string[],
): Promise<unknown> {
  try {
    return await client.evalsha(script.sha, keys.length, ...keys, ...args)
  } catch (error) {
    if (!messageOf(error).startsWith('NOSCRIPT')) throw unavailable(error)
  }
  // The server was restarted or its scripts were flushed: nothing ran, EVAL stores it again.
  try {
    return await client.eval(script.lua, keys.length, ...keys, ...args)
  } catch (error) {
    throw unavailable(error)
  }
}

async function close(client: Redis): Promise<void> {
  try {
    await client.quit()
  } catch {
    // Not connected at the moment: there is nothing to say goodbye to.
  } finally {
    client.disconnect()
  }
}

/** The driver's errors carry the command with its arguments: only their text goes on. */
function unavailable(error: unknown): AmbitError {
  if (error instanceof AmbitError) return error
  const text = messageOf(error)
  return new AmbitError('store-unavailable', `Redis did not do what was asked: ${text}`, {
    cause: new Error(text),
  })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
