import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/**
 * Runs the embedded product until it ends and answers its exit code. The child stands in a process
 * group of its own, so that an interrupt of the terminal reaches it once, from here: a second one
 * would make it leave without draining.
 */
export function runEmbedded(args: readonly string[]): Promise<number> {
  const main = fileURLToPath(new URL('../embedded/main.ts', import.meta.url))
  const env = { NODE_ENV: 'production', ...process.env }
  const child = spawn(process.execPath, [main, ...args], { stdio: 'inherit', env, detached: true })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal))
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => resolve(code ?? 1))
  })
}
