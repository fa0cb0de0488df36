/**
 * `npm run chaos -- C1 C4 scheduler | all`: live faults on an installation of its own, one line per
 * run. The faults C1 to C10 share one installation under load; a drill (`scheduler`, `poller`,
 * `judge`) has its own, and kills one service at its own work. `--help` says what there is.
 * Exits with 1 when anything was lost, doubled or wrong.
 */
import { skipWithoutPrograms } from '#test/support/cluster.ts'
import type { Drill, DrillReport } from './drill.ts'
import { FAULT_NAMES, faultsOf } from './faults.ts'
import { judgeDrill } from './judge-drill.ts'
import type { Finding } from './ledger.ts'
import { pollerDrill } from './poller-drill.ts'
import { type FaultReport, openScene, RECOVER_MS, reportLine, runFault } from './scene.ts'
import { schedulerDrill } from './scheduler-drill.ts'

const DRILLS: readonly Drill[] = [schedulerDrill, pollerDrill, judgeDrill]
const KNOWN = [...FAULT_NAMES, ...DRILLS.map(({ name }) => name)]
const USAGE = [
  'npm run chaos -- NAME…    all of them where none is named',
  `  ${FAULT_NAMES.join(', ')}: faults of the invariants page, under load on one installation`,
  ...DRILLS.map(({ name, does }) => `  ${name}: ${does}`),
]
const SHOWN_MAX = 20

const print = (line: string) => void process.stdout.write(`${line}\n`)
process.exitCode = await main(process.argv.slice(2))

async function main(names: string[]): Promise<number> {
  if (names.includes('--help')) {
    for (const line of USAGE) print(line)
    return 0
  }
  const wanted = names.length === 0 || names.includes('all') ? KNOWN : names
  const unknown = wanted.filter(name => !KNOWN.includes(name))
  if (unknown.length > 0 || skipWithoutPrograms) {
    const unknownText = `Unknown fault ${unknown.join(', ')}; known: ${KNOWN.join(', ')}, all.`
    process.stderr.write(`${unknown.length > 0 ? unknownText : `chaos ${skipWithoutPrograms}`}\n`)
    return 2
  }
  const faults = wanted.filter(name => FAULT_NAMES.includes(name))
  const reports = faults.length > 0 ? await runFaults(faults) : []
  const drilled = await runDrills(DRILLS.filter(({ name }) => wanted.includes(name)))
  const findings = [...reports, ...drilled].flatMap(report => report.findings)
  const count = (kind: Finding['kind']) => findings.filter(each => each.kind === kind).length
  const runs = reports.length + drilled.length
  print(`${runs} runs, ${count('lost')} lost, ${count('doubled')} doubled`)
  const isSlow = ({ rude, recoveredMs }: FaultReport) => rude > 0 || recoveredMs > RECOVER_MS
  return findings.length > 0 || reports.some(isSlow) ? 1 : 0
}

async function runFaults(names: string[]): Promise<FaultReport[]> {
  const scene = await openScene()
  try {
    const reports: FaultReport[] = []
    for (const fault of names.flatMap(faultsOf)) {
      const report = await runFault(scene, fault)
      reports.push(report)
      print(reportLine(report))
      printFindings(report.findings)
    }
    return reports
  } finally {
    await scene.stop()
  }
}

async function runDrills(drills: readonly Drill[]): Promise<DrillReport[]> {
  const reports: DrillReport[] = []
  for (const drill of drills) {
    const report = await drill.run()
    reports.push(report)
    print(report.summary)
    printFindings(report.findings)
  }
  return reports
}

function printFindings(findings: readonly Finding[]): void {
  for (const { kind, text } of findings.slice(0, SHOWN_MAX)) print(`  ${kind}: ${text}`)
}
