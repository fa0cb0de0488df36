import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const KAFKA_VERSION = '4.4.0'
const LOG4J_BINDING_VERSION = '2.24.3'
const REGISTRY_VERSION = '3.3.3'

/** The folder with Kafka's jars, downloaded once (45 jars, 43 MB, about 25 s). */
export function kafkaJars(cacheDir: string): string {
  return downloadOnce(join(cacheDir, `kafka-${KAFKA_VERSION}`), folder => {
    const pom = join(folder, 'pom.xml')
    writeFileSync(pom, kafkaPom())
    maven(['-f', pom, 'dependency:copy-dependencies', `-DoutputDirectory=${folder}`])
  })
}

/** The folder with Apicurio's `quarkus-run.jar`, downloaded once (158 MB). */
export function registryProgram(cacheDir: string): string {
  return downloadOnce(join(cacheDir, `apicurio-${REGISTRY_VERSION}`), folder => {
    const artifact = `io.apicurio:apicurio-registry-app:${REGISTRY_VERSION}:tar.gz:all`
    maven(['dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`])
    const archive = join(folder, `apicurio-registry-app-${REGISTRY_VERSION}-all.tar.gz`)
    execFileSync('tar', ['xzf', archive, '-C', folder])
    rmSync(archive)
  })
}

/** Fills a temporary folder and renames it, so that a broken download is never used. */
function downloadOnce(target: string, fill: (folder: string) => void): string {
  if (existsSync(target)) return target
  mkdirSync(dirname(target), { recursive: true })
  process.stderr.write(`Downloading ${basename(target)} (once)\n`)
  const folder = mkdtempSync(`${target}.partial-`)
  try {
    fill(folder)
    renameSync(folder, target)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return target
}

function maven(args: string[]): void {
  try {
    execFileSync('mvn', ['-B', '-q', '-Dstyle.color=never', ...args], { stdio: ['ignore', 2, 2] })
  } catch (cause) {
    const advice =
      'Maven must be installed (Debian: apt-get install maven) and reach its repository'
    throw new Error(`mvn ${args.join(' ')} failed. ${advice}.`, { cause })
  }
}

function kafkaPom(): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ambit</groupId><artifactId>local-kafka</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
      <version>${KAFKA_VERSION}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId>
      <version>${LOG4J_BINDING_VERSION}</version>
    </dependency>
  </dependencies>
</project>
`
}
