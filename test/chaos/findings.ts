/** What an account of an installation found: waited for while it may heal, and held against it. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Finding } from './ledger.ts'

const LOOK_EVERY_MS = 250
const SHOWN_MAX = 15

/** An account that is kept from what is read of a log. */
interface Account {
  /** Resolves when everything written before the call is in the account. */
  barrier(): Promise<void>
  findings(): Finding[]
}

/** Resolves when nothing is reported as lost any more, or with what still is. */
export async function untilNothingLost(
  { barrier, findings: look }: Account,
  withinMs: number,
): Promise<Finding[]> {
  const deadline = performance.now() + withinMs
  for (;;) {
    await barrier()
    const findings = look()
    const isOpen = findings.some(({ kind }) => kind === 'lost')
    if (!isOpen || performance.now() > deadline) return findings
    await sleep(LOOK_EVERY_MS)
  }
}

/** Fails with the summary and the first findings. */
export function assertClean({
  summary,
  findings,
}: {
  summary: string
  findings: readonly Finding[]
}): void {
  const shown = findings.slice(0, SHOWN_MAX).map(({ kind, text }) => `${kind}: ${text}`)
  assert.equal(findings.length, 0, [summary, ...shown].join('\n'))
}
