/**
 * A drill: one service is killed again and again at its own work, on an installation of the
 * drill's own, and the log is held against what should have come out.
 */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CallOptions,
  type Cluster,
  type ClusterOptions,
  type ServiceName,
  startCluster,
} from '#test/support/cluster.ts'
import type { Finding } from './ledger.ts'

export interface DrillReport {
  /** What was done and counted, for people. */
  summary: string
  findings: Finding[]
}

export interface Drill {
  name: string
  /** For the usage text. */
  does: string
  run(): Promise<DrillReport>
}

const CHANGE_WITHIN_MS = 30_000

/** Runs on a cluster that ends with it; logs and data stay where the drill found something. */
export async function onCluster(
  options: ClusterOptions,
  work: (cluster: Cluster) => Promise<DrillReport>,
): Promise<DrillReport> {
  const cluster = await startCluster(options)
  try {
    const report = await work(cluster)
    if (report.findings.length === 0) return report
    return { ...report, summary: `${report.summary}; logs are kept in ${cluster.keepLogs()}` }
  } catch (error) {
    throw new Error(`The drill broke off; logs are kept in ${cluster.keepLogs()}`, { cause: error })
  } finally {
    await cluster.stop()
  }
}

/** A change that was answered: what it made, and the moment from which it must hold. */
export interface Answered<T> {
  body: T
  answeredMs: number
}

/** Asks again while the change is pending: right after a start the registry is new. */
export async function change<T>(
  cluster: Cluster,
  service: ServiceName,
  path: string,
  options: CallOptions,
): Promise<Answered<T>> {
  const deadline = performance.now() + CHANGE_WITHIN_MS
  for (;;) {
    const { status, body } = await cluster.call(service, path, options)
    const isLater = status === 202 || status === 503
    if (!isLater && status < 300) return { body: body as T, answeredMs: Date.now() }
    const told = `${options.method ?? 'POST'} ${path}: ${status} ${JSON.stringify(body)}`
    assert.ok(isLater && performance.now() < deadline, told)
    await sleep(200)
  }
}

/** Resolves when nothing is reported as lost any more, or with what still is. */
export async function untilNothingLost(
  look: () => Promise<Finding[]>,
  withinMs: number,
): Promise<Finding[]> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const findings = await look()
    const isOpen = findings.some(({ kind }) => kind === 'lost')
    if (!isOpen || performance.now() > deadline) return findings
    await sleep(250)
  }
}

/** Fails with the first findings. */
export function assertClean({ summary, findings }: DrillReport): void {
  const shown = findings.slice(0, 15).map(({ kind, text }) => `${kind}: ${text}`)
  assert.equal(findings.length, 0, [summary, ...shown].join('\n'))
}
