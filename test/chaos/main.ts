/**
 * `npm run chaos -- C1 C4 | all`: live faults on an installation of its own, one line per run.
 * Exits with 1 when anything was lost, doubled or wrong.
 */
import { skipWithoutPrograms } from '#test/support/cluster.ts'
import { FAULT_NAMES, faultsOf } from './faults.ts'
import { type FaultReport, openScene, RECOVER_MS, reportLine, runFault } from './scene.ts'

const print = (line: string) => void process.stdout.write(`${line}\n`)
process.exitCode = await main(process.argv.slice(2))

async function main(names: string[]): Promise<number> {
  const known = FAULT_NAMES
  const wanted = names.length === 0 || names.includes('all') ? known : names
  const unknown = wanted.filter(name => !known.includes(name))
  if (unknown.length > 0 || skipWithoutPrograms) {
    const unknownText = `Unknown fault ${unknown.join(', ')}; known: ${known.join(', ')}, all.`
    process.stderr.write(`${unknown.length > 0 ? unknownText : `chaos ${skipWithoutPrograms}`}\n`)
    return 2
  }
  const reports = await runAll(wanted)
  const sum = (pick: (report: FaultReport) => number) =>
    reports.reduce((total, report) => total + pick(report), 0)
  const isBroken = (report: FaultReport) =>
    report.findings.length > 0 || report.rude > 0 || report.recoveredMs > RECOVER_MS
  const lost = sum(report => report.lost)
  const doubled = sum(report => report.doubled)
  print(`${reports.length} runs, ${lost} lost, ${doubled} doubled`)
  return reports.some(isBroken) ? 1 : 0
}

async function runAll(names: string[]): Promise<FaultReport[]> {
  const scene = await openScene()
  try {
    const reports: FaultReport[] = []
    for (const fault of names.flatMap(faultsOf)) {
      const report = await runFault(scene, fault)
      reports.push(report)
      print(reportLine(report))
      for (const { kind, text } of report.findings.slice(0, 20)) print(`  ${kind}: ${text}`)
    }
    return reports
  } finally {
    await scene.stop()
  }
}
