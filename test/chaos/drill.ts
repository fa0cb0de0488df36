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

/** What a drill does on its installation, and whom it kills. */
export interface Course<Round> {
  /** For the summary. */
  victims: string
  rounds: readonly Round[]
  round(round: Round): Promise<Finding[]>
  /** Looks once more, after all rounds held. */
  settled(): Promise<Finding[]>
  counts(): Record<string, number>
}

/** What was lost in a round stays lost: the next one would only hide when it happened. */
export async function play<Round>(course: Course<Round>): Promise<DrillReport> {
  let played = 0
  let findings: Finding[] = []
  for (const round of course.rounds) {
    if (findings.length > 0) break
    findings = await course.round(round)
    played += 1
  }
  if (findings.length === 0) findings = await course.settled()
  const counts = Object.entries(course.counts()).map(([what, count]) => `${count} ${what}`)
  const times = `${played} round${played === 1 ? '' : 's'}`
  return { summary: `${course.victims} killed in ${times}: ${counts.join(', ')}`, findings }
}
