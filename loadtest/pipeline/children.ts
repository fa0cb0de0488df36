/** Starts and stops the processes that a benchmark measures. */
import { type ChildProcess, spawn } from 'node:child_process'
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

function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise(resolve => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), 10_000).unref()
  })
}
