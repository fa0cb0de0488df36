/**
 * The life of one service process: configuration, backbone, HTTP, steps, and an orderly end. A
 * `main.ts` names its parts; everything else is the same for all.
 */
import type { AddressInfo } from 'node:net'
import { AmbitError, isAmbitError } from '#kernel/errors.ts'
import { createHttpApp, type HttpApp } from '#kernel/host/http-app.ts'
import { type Configuration, readConfiguration } from './configuration.ts'
import { openPlatform, type Platform } from './platform.ts'
import { createRecordWriter } from './record-writer.ts'
import type { StepWorld } from './step-world.ts'

/** Something started that must be stopped, newest first. */
export interface Running {
  /** Ends what still calls this process's own routes: runs before they close, and is bounded. */
  drain?(): Promise<void>
  stop(): Promise<void>
}

export interface Process {
  platform: Platform
  app: HttpApp
  /** The world of a step that writes as the given service. */
  stepWorld(service: string): StepWorld
}

export interface Started extends Process {
  url: string
  /** Aborts when the process begins to stop. */
  stopping: AbortSignal
  stop(): Promise<void>
}

/** How long an orderly end may take before the process leaves anyway. */
const DRAIN_MS = 20_000
/** How long requests in hand may take to end; a claim that still waits is cut off. */
const REQUESTS_END_MS = 3000

/** Starts the parts and listens; resolves when everything is subscribed and open. */
export async function startProcess(
  configuration: Configuration,
  startParts: (process: Process) => Promise<Running[]>,
): Promise<Started> {
  const platform = await openPlatform(configuration)
  const { logger, ids, telemetry, tables } = platform
  let isStarting = true
  const app = await createHttpApp({
    logger,
    ids,
    metrics: telemetry.registry,
    ratePerSecond: configuration.AMBIT_RATE_PER_SECOND,
    notReady: () => [...(isStarting ? ['starting'] : []), ...platform.notReady()],
  })
  const stepWorld = (service: string): StepWorld => ({
    ...platform,
    writer: createRecordWriter(platform.codec, service),
    knownTenants: () => platform.directory.tenants(),
  })
  const parts = await startParts({ platform, app, stepWorld })
  const { AMBIT_HOST: host, AMBIT_PORT: port } = configuration
  await listen(app, { host, port })
  isStarting = false
  const age = setInterval(() => {
    telemetry.policyAge.set(Math.min(tables.heartbeatAgeMs() / 1000, 1e9))
  }, 5000)
  age.unref()
  const { port: bound } = app.server.address() as AddressInfo
  const stopping = new AbortController()
  const stop = async () => {
    stopping.abort()
    clearInterval(age)
    await Promise.all(parts.map(part => part.drain?.()))
    const cut = setTimeout(() => app.server.closeAllConnections(), REQUESTS_END_MS)
    await app.close()
    clearTimeout(cut)
    for (const part of parts.reverse()) await part.stop()
    await platform.stop()
  }
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`
  return { platform, app, stepWorld, url, stop, stopping: stopping.signal }
}

async function listen(app: HttpApp, place: { host: string; port: number }): Promise<void> {
  try {
    await app.listen(place)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error
    throw new AmbitError(
      'invalid',
      `Port ${place.port} of ${place.host} is taken. Stop what listens there, or choose another ` +
        'with AMBIT_PORT (npm start: -- --port N).',
    )
  }
}

/** Runs a service until SIGTERM or SIGINT; a bad configuration is one clear line. */
export async function runProcess(
  name: string,
  startParts: (process: Process) => Promise<Running[]>,
): Promise<Started | undefined> {
  try {
    const started = await startProcess(readConfiguration(process.env), startParts)
    leaveInOrder(started)
    process.stdout.write(`ambit ${name} is ready on ${started.url}\n`)
    return started
  } catch (error) {
    const text = isAmbitError(error) ? error.message : error
    process.stderr.write(`ambit ${name} could not start: ${String(text)}\n`)
    if (!isAmbitError(error) && error instanceof Error) process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  }
}

/** First signal: drain and hand over. Second signal, or too slow: leave; the log keeps all. */
export function leaveInOrder(started: Pick<Started, 'stop'>): void {
  let isLeaving = false
  const leave = () => {
    if (isLeaving) process.exit(1)
    isLeaving = true
    setTimeout(() => process.exit(1), DRAIN_MS).unref()
    started.stop().then(
      () => process.exit(0),
      () => process.exit(1),
    )
  }
  process.on('SIGTERM', leave)
  process.on('SIGINT', leave)
}
