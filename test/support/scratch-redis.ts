/** A Redis of one test's own, empty and without persistence, that it may flush, starve or kill. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../deploy/local/free-port.ts'
import { redisAnswers } from '../../deploy/local/redis-server.ts'

/** The reason to skip, or false when a `redis-server` is on PATH. */
export const skipWithoutRedisServer: string | false =
  spawnSync('redis-server', ['--version']).status === 0 ? false : 'needs redis-server on PATH'

export interface ScratchRedis {
  url: string
  /** SIGKILL; with `restart` an empty one answers on the same port. */
  kill(): Promise<void>
  restart(): Promise<void>
  stop(): Promise<void>
}

/** Starts one on a free loopback port; `args` are further settings of the server. */
export async function startScratchRedis(args: string[] = []): Promise<ScratchRedis> {
  const port = await freePort(0)
  const dir = mkdtempSync(join(tmpdir(), 'ambit-redis-'))
  let child: ChildProcess | undefined
  const kill = async () => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise(resolve => child?.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
  const restart = async () => {
    await kill()
    child = spawn(
      'redis-server',
      ['--bind', '127.0.0.1', '--port', `${port}`, '--save', '', '--dir', dir, ...args],
      { stdio: 'ignore' },
    )
    for (let tries = 0; !(await redisAnswers(port)); tries += 1) {
      if (tries > 200) throw new Error(`redis-server did not answer on port ${port}`)
      await new Promise(resolve => setTimeout(resolve, 25))
    }
  }
  await restart()
  const stop = async () => {
    await kill()
    rmSync(dir, { recursive: true, force: true })
  }
  return { url: `redis://127.0.0.1:${port}`, kill, restart, stop }
}
