/**
 * A drill: one service is killed again and again at its own work, on an installation of the
 * drill's own, and the log is held against what should have come out.
 */
import { type Cluster, type ClusterOptions, startCluster } from '#test/support/cluster.ts'
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
