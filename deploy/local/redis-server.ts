import { spawnSync } from 'node:child_process'
import { connect } from 'node:net'
import { join } from 'node:path'
import { lastPort, runningPid, startDaemon, stopDaemon } from './daemon.ts'
import { freePort } from './free-port.ts'
import type { InfraSettings } from './infra-settings.ts'

/**
 * Starts a Redis without persistence and returns its URL when it answers PING. Does nothing
 * when it already runs. The port survives stop and start; the data never does.
 */
export async function startRedis(settings: InfraSettings): Promise<string> {
  const dir = folderOf(settings)
  const known = lastPort(dir)
  if (known !== undefined && runningPid(dir) !== undefined) return `redis://127.0.0.1:${known}`
  requireProgram()
  const port = await freePort(known ?? settings.redisPort)
  await startDaemon({
    name: 'Redis',
    dir,
    port,
    command: 'redis-server',
    args: serverArguments(dir, port),
    isReady: () => redisAnswers(port),
  })
  return `redis://127.0.0.1:${port}`
}

/** A clean shutdown; the data is gone all the same. */
export function stopRedis(settings: InfraSettings): Promise<void> {
  return stopDaemon(folderOf(settings), 'SIGTERM')
}

/** A crash: SIGKILL. */
export function killRedis(settings: InfraSettings): Promise<void> {
  return stopDaemon(folderOf(settings), 'SIGKILL')
}

/** Stops or kills Redis and starts it again, empty, on the same port. */
export async function restartRedis(settings: InfraSettings, how: 'clean' | 'kill'): Promise<void> {
  await (how === 'clean' ? stopRedis(settings) : killRedis(settings))
  await startRedis(settings)
}

/** Whether a Redis on this loopback port answers PING within a second. */
export function redisAnswers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect({ host: '127.0.0.1', port })
    const answer = (ok: boolean) => {
      socket.destroy()
      resolve(ok)
    }
    socket.setTimeout(1000, () => answer(false))
    socket.once('error', () => answer(false))
    socket.once('data', data => answer(data.toString().startsWith('+PONG')))
    socket.once('connect', () => socket.write('PING\r\n'))
  })
}

function folderOf(settings: InfraSettings): string {
  return join(settings.runDir, 'redis')
}

/** The title stays untouched, so that the command line names the folder as the pid check needs. */
function serverArguments(dir: string, port: number): string[] {
  const network = ['--bind', '127.0.0.1', '--port', String(port)]
  const memory = ['--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction']
  return [...network, ...memory, '--dir', dir, '--set-proc-title', 'no', '--daemonize', 'no']
}

function requireProgram(): void {
  if (spawnSync('redis-server', ['--version']).status === 0) return
  throw new Error(
    'redis-server is not on PATH. Install Redis 7 or newer and run this again ' +
      '(Debian: apt-get install redis-server; macOS: brew install redis).',
  )
}
