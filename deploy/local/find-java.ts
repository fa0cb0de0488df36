import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const JVM_FOLDERS = ['/usr/lib/jvm', '/Library/Java/JavaVirtualMachines', '/opt/java']

/**
 * The path of a `java` of at least this major version: JAVA_HOME first, then PATH, then the
 * folders where systems install them. Throws with what to install when there is none.
 */
export function findJava(majorMin: number): string {
  const found = candidates().find(java => majorOf(java) >= majorMin)
  if (found) return found
  throw new Error(
    `Java ${majorMin} or newer is needed; JAVA_HOME, PATH and ${JVM_FOLDERS[0]} have none. ` +
      'Install one (Debian: apt-get install openjdk-21-jre-headless or newer) or set JAVA_HOME.',
  )
}

function candidates(): string[] {
  const homes = process.env.JAVA_HOME ? [process.env.JAVA_HOME] : []
  const installed = JVM_FOLDERS.filter(folder => existsSync(folder)).flatMap(folder =>
    readdirSync(folder).flatMap(name => [
      join(folder, name),
      join(folder, name, 'Contents', 'Home'),
    ]),
  )
  const inHome = (home: string) => join(home, 'bin', 'java')
  return [...homes.map(inHome), 'java', ...installed.map(inHome).filter(java => existsSync(java))]
}

function majorOf(java: string): number {
  const { stderr } = spawnSync(java, ['-version'], { encoding: 'utf8' })
  const version = /version "(\d+)/.exec(stderr ?? '')
  return version ? Number(version[1]) : 0
}
