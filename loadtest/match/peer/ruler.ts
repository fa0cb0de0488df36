/**
 * Runs the peer, Amazon Event Ruler (Apache-2.0, Maven Central), as it is published. The jars and
 * the compiled harness live outside the checkout, in `AMBIT_INFRA_DIR`.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const VERSION = '1.7.3'
const SOURCE = path.join(import.meta.dirname, 'RulerBench.java')
const COPY_GOAL = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies'

/** One side's figures on one workload. */
export interface Figures {
  /** From the lines in memory to a ready index, in a process that has just started. */
  loadMs: number
  /** The same, the best of several loads in one process. */
  warmLoadMs: number
  eventsPerSecond: number
  matches: number
  heapBytes: number
}

/**
 * Fetches and compiles what is missing, and returns the class path.
 *
 * @throws Error when Java or Maven is not installed, or Maven Central cannot be reached.
 */
export function prepareRuler(): string {
  const root = process.env.AMBIT_INFRA_DIR ?? path.join(os.homedir(), '.cache', 'ambit')
  const directory = path.join(root, `event-ruler-${VERSION}`)
  const jars = path.join(directory, 'jars')
  const classes = path.join(directory, 'classes')
  if (!fs.existsSync(path.join(jars, `event-ruler-${VERSION}.jar`))) {
    fs.mkdirSync(directory, { recursive: true })
    fs.writeFileSync(path.join(directory, 'pom.xml'), pom())
    run('mvn', ['-q', '-B', '-f', directory, COPY_GOAL, `-DoutputDirectory=${jars}`])
  }
  fs.mkdirSync(classes, { recursive: true })
  run('javac', ['-nowarn', '-cp', path.join(jars, '*'), '-d', classes, SOURCE])
  return [classes, path.join(jars, '*')].join(path.delimiter)
}

/** Measures the peer on a workload directory. */
export function measureRuler(classPath: string, directory: string, rounds: Rounds): Figures {
  const { warmups, passes } = rounds
  const args = ['-cp', classPath, 'RulerBench', directory, String(warmups), String(passes)]
  return JSON.parse(run('java', args))
}

/** How often the events pass before, and while, they are measured; loads are as many as passes. */
export interface Rounds {
  warmups: number
  passes: number
}

function run(command: string, args: readonly string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

function pom(): string {
  return `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>ambit</groupId>
  <artifactId>peer</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>software.amazon.event.ruler</groupId>
      <artifactId>event-ruler</artifactId>
      <version>${VERSION}</version>
    </dependency>
  </dependencies>
</project>
`
}
