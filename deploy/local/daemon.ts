/**
 * One background process with a folder of its own: `<runDir>/<name>/` holds its data, `pid`,
 * `port` and `log`. A pid counts as ours only while its command line names that folder, so a
 * number reused by the system, or a zombie, is never taken for a running service and never
 * signalled.
 */
import { execFileSync, spawn } from 'node:child_process'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** How to run one service; its command line must contain `dir`. */
export interface DaemonSpec {
  name: string
  dir: string
  port: number
  command: string
  args: string[]
  /** True once the service answers its own protocol. */
  isReady: () => Promise<boolean>
}

const READY_TIMEOUT_MS = 120_000
const STOP_TIMEOUT_MS = 30_000
const POLL_MS = 100

/** The pid of the service in this folder, or undefined when none runs. */
export function runningPid(dir: string): number | undefined {
  const pid = numberIn(join(dir, 'pid'))
  return pid !== undefined && commandLine(pid).includes(dir) ? pid : undefined
}

/** The port that the service in this folder had when it was last started. */
export function lastPort(dir: string): number | undefined {
  return numberIn(join(dir, 'port'))
}

/** Starts the process and returns when it answers; throws with the end of its log otherwise. */
export async function startDaemon(spec: DaemonSpec): Promise<void> {
  mkdirSync(spec.dir, { recursive: true })
  const log = openSync(join(spec.dir, 'log'), 'a')
  const child = spawn(spec.command, spec.args, {
    cwd: spec.dir,
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject)
    child.once('spawn', resolve)
  })
  child.unref()
  writeFileSync(join(spec.dir, 'pid'), `${child.pid}\n`)
  writeFileSync(join(spec.dir, 'port'), `${spec.port}\n`)
  await untilReady(spec, () => child.exitCode !== null || child.signalCode !== null)
}

/**
 * Ends the process and returns when it is gone. SIGTERM falls back to SIGKILL after 30 s;
 * SIGKILL is the crash that chaos tests want. Does nothing when none runs.
 */
export async function stopDaemon(dir: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const pid = runningPid(dir)
  if (pid === undefined) return
  process.kill(pid, signal)
  if (!(await gone(dir)) && signal === 'SIGTERM') {
    process.kill(pid, 'SIGKILL')
    await gone(dir)
  }
  rmSync(join(dir, 'pid'), { force: true })
}

async function gone(dir: string): Promise<boolean> {
  const deadline = Date.now() + STOP_TIMEOUT_MS
  while (Date.now() < deadline) {
    if (runningPid(dir) === undefined) return true
    await sleep(POLL_MS)
  }
  return false
}

async function untilReady(spec: DaemonSpec, hasEnded: () => boolean): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (Date.now() < deadline) {
    if (hasEnded()) throw new Error(`${spec.name} ended while starting.\n${logTail(spec.dir)}`)
    if (await spec.isReady()) return
    await sleep(POLL_MS)
  }
  await stopDaemon(spec.dir, 'SIGKILL')
  const seconds = READY_TIMEOUT_MS / 1000
  throw new Error(`${spec.name} did not answer within ${seconds} s.\n${logTail(spec.dir)}`)
}

function logTail(dir: string): string {
  const path = join(dir, 'log')
  return `The end of ${path}:\n${readFileSync(path, 'utf8').slice(-2000)}`
}

function numberIn(path: string): number | undefined {
  if (!existsSync(path)) return undefined
  const number = Number(readFileSync(path, 'utf8').trim())
  return Number.isInteger(number) && number > 0 ? number : undefined
}

function commandLine(pid: number): string {
  try {
    if (existsSync('/proc/self/cmdline')) return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return ''
  }
}
