/**
 * `npm test`: one `node --test` over everything this machine can test, so that the totals it
 * closes with are node's own and count all of it. One file runs at a time: simulations and live
 * faults use all cores of a small machine, and whoever shared it with them would measure them.
 *
 * `npm test -- services/guard` runs only the files under the named paths.
 */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { answeringInfra, type InfraEnv } from '../../deploy/local/infra.ts'
import { createSkipReport } from './skip-report.ts'

const TEST_FILES = [
  'services/**/*.test.ts',
  'schemas/**/*.test.ts',
  'topologies/**/*.test.ts',
  'deploy/**/*.test.ts',
  'loadtest/**/*.test.ts',
  'test/{support,contract,simulation,chaos,conformance,e2e}/**/*.test.ts',
]
// kafkajs computes a timeout from an unset date; it is harmless and floods the output.
const QUIET = '--disable-warning=TimeoutNegativeWarning'
const FILES_AT_ONCE = 1
const TEST_TIMEOUT_MS = 15 * 60_000

process.exitCode = await run(process.argv.slice(2))

async function run(paths: string[]): Promise<number> {
  const files = globSync(TEST_FILES).filter(file => isUnder(file, paths))
  if (files.length === 0) {
    process.stderr.write(`No test file is under ${paths.join(', ') || 'the project'}\n`)
    return 1
  }
  const infra = await answeringInfra()
  if (infra === undefined && process.env.AMBIT_REQUIRE_INFRA) {
    process.stderr.write('AMBIT_REQUIRE_INFRA is set and not all services of infra:up answer\n')
    return 1
  }
  process.stdout.write(infra ? 'Distributed suites: on\n' : 'Distributed suites: skipped\n')
  return runFiles(files.toSorted(), testEnvironment(infra))
}

/** The children get the addresses only when all three answer; each suite looks for its own. */
function testEnvironment(infra: InfraEnv | undefined): NodeJS.ProcessEnv {
  const {
    AMBIT_KAFKA_BROKERS: _kafka,
    AMBIT_REDIS_URL: _redis,
    AMBIT_SCHEMA_REGISTRY_URL: _registry,
    ...others
  } = process.env
  return { ...others, ...infra }
}

function isUnder(file: string, paths: string[]): boolean {
  return paths.length === 0 || paths.some(path => file.startsWith(path.replace(/^\.\//, '')))
}

/** Prints the runner's lines as they come, but the closing ones only after the skipped suites. */
async function runFiles(files: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const options = [
    QUIET,
    `--test-concurrency=${FILES_AT_ONCE}`,
    `--test-timeout=${TEST_TIMEOUT_MS}`,
    // A socket that is slow to close must not keep a file that has passed from ending.
    '--test-force-exit',
  ]
  const child = spawn(process.execPath, ['--test', '--test-reporter=spec', ...options, ...files], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise<number>(resolve => child.once('close', code => resolve(code ?? 1)))
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => child.kill(signal))
  const report = createSkipReport()
  for await (const line of createInterface({ input: child.stdout })) {
    for (const out of report.onLine(line)) process.stdout.write(`${out}\n`)
  }
  for (const out of report.atEnd()) process.stdout.write(`${out}\n`)
  return ended
}
