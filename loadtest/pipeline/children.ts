/** Starts and stops the processes that a benchmark measures. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export interface Child {
  /** Where it listens. */
  url: string
  pid: number | undefined
  stop(): Promise<void>
}

/** Where a pipeline is entered and left. */
export interface Ends {
  publish: string
  claim: string
  control: string
}

/** An embedded host, and the folder of its data. */
export interface Host extends Child {
  directory: string
}

/** The API key of everything that a benchmark starts. */
export const KEY = 'bench-key-bench-key-0123'
const READY_WITHIN_MS = 60_000

/** Starts a script and resolves when it prints a line with `ready` and its address. */
export function startChild(
  script: string,
  args: string[],
  environment: Record<string, string>,
): Promise<Child> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('AMBIT_'))
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...Object.fromEntries(inherited), NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(new Error(`${script} was not ready in time`)),
      READY_WITHIN_MS,
    )
    child.once('exit', code => reject(new Error(`${script} ended with ${code}`)))
    createInterface({ input: child.stdout }).on('line', line => {
      const url = /ready.*?(http:\/\/[\w.:]+)/.exec(line)?.[1]
      if (!url) return
      clearTimeout(late)
      resolve({ url, pid: child.pid, stop: () => stopChild(child) })
    })
  })
}

/** Runs on an empty embedded host of its own; its data is gone afterwards. */
export async function withHost<T>(
  settingsFor: (directory: string) => Record<string, string>,
  work: (host: Host) => Promise<T>,
): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'ambit-bench-'))
  try {
    const host = await startChild(
      join(import.meta.dirname, '../../services/embedded/main.ts'),
      ['--empty', '--port', '0', '--data', directory],
      { AMBIT_API_KEY: KEY, ...settingsFor(directory) },
    )
    try {
      return await work({ ...host, directory })
    } finally {
      await host.stop()
    }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise(resolve => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), 10_000).unref()
  })
}
