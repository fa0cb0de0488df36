import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const WAIT_MAX_MS = 300_000
const POLL_MS = 200

/**
 * Runs `work` while no other process of this machine holds the same lock file. A lock whose
 * process has ended is taken over. Throws after five minutes of waiting.
 */
export async function withLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + WAIT_MAX_MS
  while (!tryTake(path)) {
    if (Date.now() > deadline) throw new Error(`${path} is held: end its process or remove it`)
    await sleep(POLL_MS)
  }
  try {
    return await work()
  } finally {
    rmSync(path, { force: true })
  }
}

function tryTake(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    if (!isHeld(path)) rmSync(path, { force: true })
    return false
  }
}

function isHeld(path: string): boolean {
  try {
    const pid = Number(readFileSync(path, 'utf8'))
    // An empty file is a lock that its owner is writing this very moment.
    return pid === 0 || process.kill(pid, 0)
  } catch {
    return false
  }
}
