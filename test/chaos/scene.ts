/** One installation under load, on which faults are tried one after the other. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cluster, type ClusterOptions, startCluster } from '#test/support/cluster.ts'
import { change, subscribe } from './change.ts'
import { type Executors, startExecutors } from './executors.ts'
import { assertClean, untilNothingLost } from './findings.ts'
import { LANES, typeOf } from './lanes.ts'
import { createLedger, type Finding, type Ledger } from './ledger.ts'
import { startLoad } from './load.ts'
import { type LogMirror, mirrorLog } from './log-mirror.ts'

export interface Scene {
  cluster: Cluster
  ledger: Ledger
  mirror: LogMirror
  executors: Executors
  stop(): Promise<void>
}

/** A fault in two halves; the load goes on all the time. */
export interface Fault {
  name: string
  /** Does the damage. */
  strike(scene: Scene): Promise<void>
  /** Ms between both halves. Default 0. */
  lastsMs?: number
  /** Undoes it, where it does not end by itself. */
  heal?(scene: Scene): Promise<void>
}

export interface FaultReport {
  name: string
  accepted: number
  lost: number
  doubled: number
  findings: Finding[]
  refusals: Record<string, number>
  /** 503 answers of ingest without `Retry-After`. */
  rude: number
  /** Longest time from acceptance to receipt, ms. */
  slowestMs: number
  /** From the damage until what was accepted came out at its usual pace without the heal, ms. */
  takeoverMs: number
  /** The same from the heal, or from the damage where nothing is healed. */
  recoveredMs: number
  /** From the end of the load until everything was accounted for, ms. */
  quietMs: number
  /** Records that groups had not finished at the end; tells which step is stuck. */
  lag: Record<string, number>
}

const RATE = 60
const WARM_MS = 2500
const AFTER_MS = 3000
const QUIET_MS = 30_000
/** What a healthy installation adds to the pace that it had before the fault, at most. */
const SLACK_MS = 1500
/** The bar: lag back to normal. */
export const RECOVER_MS = 30_000

/** Starts the cluster, makes the subscriptions and sets executors to work. */
export async function openScene(options: ClusterOptions = {}): Promise<Scene> {
  const cluster = await startCluster(options)
  try {
    const ledger = createLedger()
    const mirror = await mirrorLog(cluster, ledger)
    const agents = LANES.flatMap(lane => lane.subscriptions)
    await Promise.all(LANES.map(lane => subscribeLane(cluster, ledger, lane)))
    const executors = startExecutors(cluster, ledger, agents)
    const stop = async () => {
      await executors.stop()
      await mirror.stop()
      await cluster.stop()
    }
    return { cluster, ledger, mirror, executors, stop }
  } catch (error) {
    await cluster.stop()
    throw error
  }
}

async function subscribeLane(
  cluster: Cluster,
  ledger: Ledger,
  lane: (typeof LANES)[number],
): Promise<void> {
  for (const name of lane.subscriptions) {
    const agent = { maxConcurrentLeases: 50, maxAttempts: 50 }
    const options = { method: 'PUT', body: agent }
    await change(cluster, 'control-plane', `/v1/agents/${name}`, options)
    const body = { name, agent: name, instruction: 'Work.', on: { types: [typeOf(lane.name)] } }
    const limits = { storm: null, ...lane.limits }
    const { id } = await subscribe(cluster, { ...body, limits })
    ledger.subscriptions.set(name, id)
  }
}

let runs = 0

/** Runs one fault under load and waits until the installation is quiet. */
export async function runFault(scene: Scene, fault: Fault): Promise<FaultReport> {
  const { cluster, ledger } = scene
  const before = ledger.counts().accepted
  const load = startLoad(cluster, ledger, { run: `r${runs++}`, rate: RATE })
  const times = await damage(scene, fault).catch(async error => {
    load.abandon()
    await load.stop()
    throw error
  })
  await load.stop()
  const endedAt = performance.now()
  const findings = await untilQuiet(scene)
  return {
    name: fault.name,
    accepted: ledger.counts().accepted - before,
    lost: findings.filter(({ kind }) => kind === 'lost').length,
    doubled: findings.filter(({ kind }) => kind === 'doubled').length,
    findings,
    refusals: { ...load.refusals(), ...scene.executors.refusals() },
    rude: load.rude(),
    quietMs: performance.now() - endedAt,
    lag: await scene.mirror.lag(),
    ...delays(ledger.spans(), times),
  }
}

interface Times {
  startedAt: number
  struckAt: number
  healedAt: number
  overAt: number
}

/** Warms up, strikes, heals, whatever happens in between, and lets the load go on for a while. */
async function damage(scene: Scene, fault: Fault): Promise<Times> {
  const startedAt = Date.now()
  await sleep(WARM_MS)
  const struckAt = Date.now()
  let healedAt = struckAt
  try {
    await fault.strike(scene)
    await sleep(fault.lastsMs ?? 0)
  } finally {
    healedAt = Date.now()
    await fault.heal?.(scene)
  }
  const overAt = fault.heal ? Date.now() : struckAt
  await sleep(AFTER_MS)
  return { startedAt, struckAt, healedAt, overAt }
}

function delays(all: Span[], { startedAt, struckAt, healedAt, overAt }: Times) {
  const spans = all.filter(({ acceptedAt }) => acceptedAt >= startedAt)
  const pace = paceOf(spans, struckAt)
  const late = spans.filter(span => waitOf(span) > pace + SLACK_MS && span.receivedAt >= struckAt)
  const since = (at: number, those: Span[]) =>
    Math.max(0, ...those.map(({ receivedAt }) => receivedAt - at))
  const early = late.filter(({ acceptedAt }) => acceptedAt < healedAt)
  return {
    slowestMs: Math.max(0, ...spans.map(waitOf)),
    takeoverMs: since(struckAt, early),
    recoveredMs: since(overAt, late),
  }
}

type Span = ReturnType<Ledger['spans']>[number]

const waitOf = ({ acceptedAt, receivedAt }: Span) => receivedAt - acceptedAt

/** The longest wait of what came out before the fault: the machine may be busy with others. */
function paceOf(spans: Span[], struckAt: number): number {
  return Math.max(0, ...spans.filter(span => span.receivedAt < struckAt).map(waitOf))
}

/** Everything accounted for, or what is not after the time that quiet allows. */
function untilQuiet({ ledger, mirror }: Scene): Promise<Finding[]> {
  return untilNothingLost({ barrier: mirror.barrier, findings: ledger.findings }, QUIET_MS)
}

/** One line for people. */
export function reportLine(report: FaultReport): string {
  const { name, accepted, lost, doubled, slowestMs, takeoverMs, recoveredMs, quietMs } = report
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
  const refused = Object.entries(report.refusals).map(([what, count]) => `${what}: ${count}`)
  return [
    `${name}: ${accepted} accepted, ${lost} lost, ${doubled} doubled`,
    `slowest ${seconds(slowestMs)}, taken over after ${seconds(takeoverMs)}`,
    `normal ${seconds(recoveredMs)} after the end`,
    `quiet after ${seconds(quietMs)}`,
    `refused ${refused.join(', ') || 'nothing'}`,
    ...(report.findings.length > 0 ? [`lag ${JSON.stringify(report.lag)}`] : []),
  ].join('; ')
}

/** Fails with the first findings, or when it took too long. */
export function assertHeld(report: FaultReport): void {
  assertClean({ summary: reportLine(report), findings: report.findings })
  assert.equal(report.rude, 0, 'a 503 of ingest names Retry-After')
  assert.ok(report.recoveredMs <= RECOVER_MS, reportLine(report))
}
