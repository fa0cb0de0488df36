/**
 * `npm run check`: format, lint, types, dependency rules, dead code, and our own rules. Every step
 * runs even after one has failed, so that one run tells all; the exit status is 1 if any did.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const ROOTS = ['services', 'schemas', 'topologies', 'deploy', 'loadtest', 'test']

/** Programs are started by this runtime from their own files: no shell, no PATH, no npx. */
const STEPS: Record<string, string[]> = {
  'format and lint': ['node_modules/@biomejs/biome/bin/biome', 'check', '--diagnostic-level=warn'],
  types: ['node_modules/typescript/bin/tsc', '--noEmit'],
  'dependency rules': [
    'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
    '--config',
    '.dependency-cruiser.cjs',
    ...ROOTS.filter(root => existsSync(root)),
  ],
  'dead code': ['node_modules/knip/bin/knip.js', '--no-progress'],
  'own rules': ['--test', 'test/support/tidy.test.ts', 'test/support/dependency-rules.test.ts'],
}

const failed = Object.entries(STEPS).filter(([name, args]) => !passes(name, args))
process.stdout.write(
  failed.length === 0
    ? 'check: all steps passed\n'
    : `check: failed: ${failed.map(([name]) => name).join(', ')}\n`,
)
process.exitCode = failed.length === 0 ? 0 : 1

function passes(name: string, args: string[]): boolean {
  process.stdout.write(`\n== ${name}\n`)
  const startedMs = performance.now()
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  process.stdout.write(`== ${name}: ${status === 0 ? 'passed' : 'FAILED'} in ${seconds} s\n`)
  return status === 0
}
