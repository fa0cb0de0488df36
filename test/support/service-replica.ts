/** One replica of a service as a process of its own, which a test may kill, pause and restart. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** How to start one replica; port and folder stay the same over restarts. */
export interface ReplicaSpec {
  service: string
  index: number
  port: number
  dir: string
  /** Settings of the service; nothing else of this process is passed on but PATH and HOME. */
  env: Record<string, string>
}

export type ReplicaState = 'down' | 'up' | 'paused'

export interface Replica {
  readonly service: string
  readonly index: number
  readonly url: string
  /** What the test did to it, not what it answers. */
  state(): ReplicaState
  /** Spawns the process, again when it gives up, as an orchestrator does; resolves when ready. */
  start(): Promise<void>
  /** SIGKILL; resolves when the process is gone. */
  kill9(): Promise<void>
  /** SIGTERM; answers the ms that the orderly end took, and its exit code. */
  stopGracefully(): Promise<{ ms: number; code: number | null }>
  /** SIGSTOP and SIGCONT. */
  pause(): void
  resume(): void
  /** Body of `/readyz` and its status; 0 when nothing answers. */
  readiness(): Promise<{ status: number; text: string }>
  /** The end of its log. */
  logTail(): string
}

const READY_WITHIN_MS = 120_000
const POLL_MS = 100
const PROBE_MS = 2000

/** A replica at rest. */
export function createReplica(spec: ReplicaSpec): Replica {
  const { service, index, port, dir } = spec
  const url = `http://127.0.0.1:${port}`
  const logFile = join(dir, `${service}-${index}.log`)
  let child: ChildProcess | undefined
  let state: ReplicaState = 'down'
  const isRunning = () => child !== undefined && child.exitCode === null && !child.signalCode
  const end = async (signal: NodeJS.Signals) => {
    const ending = child
    if (!ending || !isRunning()) return null
    const gone = new Promise<number | null>(resolve => ending.once('exit', resolve))
    state = 'down'
    ending.kill(signal)
    return gone
  }
  const logTail = () => `The end of ${logFile}:\n${readFileSync(logFile, 'utf8').slice(-3000)}`
  return {
    ...{ service, index, url, logTail },
    state: () => state,
    async start() {
      const deadline = Date.now() + READY_WITHIN_MS
      child = spawnService(spec, logFile)
      while ((await probe(url)).status !== 200) {
        if (Date.now() > deadline) {
          throw new Error(`${service} ${index} did not become ready. ${logTail()}`)
        }
        await sleep(POLL_MS)
        if (!isRunning()) child = spawnService(spec, logFile)
      }
      state = 'up'
    },
    async kill9() {
      await end('SIGKILL')
    },
    async stopGracefully() {
      const startedMs = performance.now()
      const code = await end('SIGTERM')
      return { ms: performance.now() - startedMs, code }
    },
    pause() {
      child?.kill('SIGSTOP')
      state = 'paused'
    },
    resume() {
      child?.kill('SIGCONT')
      state = 'up'
    },
    readiness: () => probe(url),
  }
}

function spawnService(spec: ReplicaSpec, logFile: string): ChildProcess {
  const { service, index, port, dir, env } = spec
  mkdirSync(dir, { recursive: true })
  const log = openSync(logFile, 'a')
  const data = join(dir, `${service}-${index}`)
  const main = join(import.meta.dirname, `../../services/${service}/main.ts`)
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', main], {
    env: { PATH, HOME, ...env, AMBIT_PORT: String(port), AMBIT_DATA_DIR: data },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  return child
}

async function probe(url: string): Promise<{ status: number; text: string }> {
  try {
    const answer = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(PROBE_MS) })
    return { status: answer.status, text: await answer.text() }
  } catch {
    return { status: 0, text: '' }
  }
}
