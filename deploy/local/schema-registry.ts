import { join } from 'node:path'
import { lastPort, runningPid, startDaemon, stopDaemon } from './daemon.ts'
import { findJava } from './find-java.ts'
import { freePort } from './free-port.ts'
import type { InfraSettings } from './infra-settings.ts'
import { registryProgram } from './maven-download.ts'

const JAVA_MAJOR_MIN = 21
const COMPATIBILITY = 'BACKWARD'

/**
 * Starts an in-memory Apicurio registry and returns the base URL of its Confluent-compatible
 * API once its default compatibility is BACKWARD (its own default is NONE). Does nothing when it
 * already runs. A restarted registry is empty.
 */
export async function startRegistry(settings: InfraSettings): Promise<string> {
  const dir = folderOf(settings)
  const known = lastPort(dir)
  if (known !== undefined && runningPid(dir) !== undefined) return registryUrl(known)
  const java = findJava(JAVA_MAJOR_MIN)
  const program = registryProgram(settings.cacheDir)
  const port = await freePort(known ?? settings.registryPort)
  await startDaemon({
    name: 'Schema registry',
    dir,
    port,
    command: java,
    args: [...javaOptions(dir, port), '-jar', join(program, 'quarkus-run.jar')],
    isReady: () => registryAnswers(registryUrl(port)),
  })
  await setCompatibility(registryUrl(port))
  return registryUrl(port)
}

/** A clean shutdown; every schema is forgotten. */
export function stopRegistry(settings: InfraSettings): Promise<void> {
  return stopDaemon(folderOf(settings), 'SIGTERM')
}

/** Whether a registry at this base URL lists its subjects within two seconds. */
export async function registryAnswers(baseUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${baseUrl}/subjects`, { signal: AbortSignal.timeout(2000) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

async function setCompatibility(baseUrl: string): Promise<void> {
  const body = JSON.stringify({ compatibility: COMPATIBILITY })
  const headers = { 'content-type': 'application/json' }
  const set = await fetch(`${baseUrl}/config`, { method: 'PUT', headers, body })
  await set.arrayBuffer()
  const now = await (await fetch(`${baseUrl}/config`)).text()
  if (set.ok && now.includes(`"${COMPATIBILITY}"`)) return
  throw new Error(
    `The registry's default compatibility must be ${COMPATIBILITY}; it answered ${now}`,
  )
}

function registryUrl(port: number): string {
  return `http://127.0.0.1:${port}/apis/ccompat/v7`
}

function folderOf(settings: InfraSettings): string {
  return join(settings.runDir, 'registry')
}

/**
 * The management interface would otherwise listen on every address at a fixed port. The folder as
 * temporary directory keeps unpacked files out of the system's own.
 */
function javaOptions(dir: string, port: number): string[] {
  const light = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
  const http = ['-Dquarkus.http.host=127.0.0.1', `-Dquarkus.http.port=${port}`]
  const management = ['-Dquarkus.management.host=127.0.0.1', '-Dquarkus.management.port=0']
  return [...light, ...http, ...management, `-Djava.io.tmpdir=${dir}`, '-Dquarkus.log.level=WARN']
}
