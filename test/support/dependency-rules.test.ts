import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { after, before, describe, it } from 'node:test'

/** One broken import per rule: the rule, the file, and the line that breaks it. */
const PLANTED: [rule: string, file: string, line: string][] = [
  ['pure-files-stay-pure', 'services/guard/stages/cooldown.ts', "import 'node:fs'"],
  ['pure-files-stay-pure', 'services/ingest/mappers/github.ts', "import 'undici'"],
  ['pure-files-import-no-edges', 'services/guard/decide.ts', "import '#kernel/ports/clock.ts'"],
  ['domain-imports-domain', 'services/kernel/domain/event.ts', "import '../ports/clock.ts'"],
  ['ports-import-domain', 'services/kernel/ports/clock.ts', "import 'node:timers'"],
  [
    'adapters-import-ports-and-domain',
    'services/kernel/adapters/redis/a.ts',
    "import '../kafka/b.ts'",
  ],
  [
    'driver-kafkajs-has-one-home',
    'services/kernel/adapters/redis/c.ts',
    "import { Kafka } from 'kafkajs'",
  ],
  ['driver-ioredis-has-one-home', 'services/agent/memory.ts', "import { Redis } from 'ioredis'"],
  [
    'driver-sqlite-has-one-home',
    'services/agent/file.ts',
    "import { DatabaseSync } from 'node:sqlite'",
  ],
  ['services-speak-through-topics', 'services/agent/ask.ts', "import '#services/guard/decide.ts'"],
  ['client-is-for-outsiders', 'services/guard/call.ts', "import '#services/client/client.ts'"],
  ['kernel-knows-no-service', 'services/kernel/host/step.ts', "import '#services/guard/decide.ts'"],
  ['no-decider-imports-topologies', 'services/guard/pipeline.ts', "import '#topologies/topics.ts'"],
  ['schemas-import-nothing-of-ours', 'schemas/order.ts', "import '#topologies/topics.ts'"],
  ['only-roots-name-adapters', 'services/agent/service.ts', "import '#kernel/adapters/kafka/b.ts'"],
  ['pages-see-the-api-only', 'services/control-plane/web/app.ts', "import '#kernel/errors.ts'"],
  ['pages-see-the-api-only', 'services/agent/page/web/chat.ts', "import '#kernel/errors.ts'"],
  ['product-imports-no-test', 'services/agent/fake.ts', "import '#test/support/clock.ts'"],
  ['no-cycles', 'services/agent/a.ts', "import './b.ts'"],
  ['resolvable', 'services/agent/lost.ts', "import './nowhere.ts'"],
  ['no-dev-dependency-in-the-product', 'services/agent/parse.ts', "import ts from 'typescript'"],
]

/** What a file may well do; none of these may be reported. */
const ALLOWED: [file: string, line: string][] = [
  ['services/kernel/errors.ts', 'export const ERRORS = {}'],
  ['services/kernel/adapters/kafka/b.ts', "import { Kafka } from 'kafkajs'"],
  ['services/client/client.ts', "import '#kernel/errors.ts'"],
  ['services/cli/main.ts', "import '#services/client/client.ts'"],
  ['services/agent/main.ts', "import '#kernel/adapters/kafka/b.ts'"],
  ['services/guard/service.ts', "import '#kernel/ports/clock.ts'"],
  ['services/guard/stages/storm.ts', "import { z } from 'zod'"],
  ['services/embedded/compose.ts', "import '#services/guard/decide.ts'"],
  ['services/kernel/web/dom.ts', 'export const el = 1'],
  ['services/control-plane/web/list.ts', "import '../../kernel/web/dom.ts'"],
  ['services/agent/page/web/log.ts', "import '../../../kernel/web/dom.ts'"],
  ['topologies/topics.ts', "import '#kernel/errors.ts'"],
  ['topologies/graph.ts', "import '#services/guard/decide.ts'"],
  ['test/support/clock.ts', "import '#kernel/adapters/kafka/b.ts'"],
]

/** The other half of the cycle, which is reported once, for its first file. */
const SUPPORTING: [file: string, line: string][] = [['services/agent/b.ts', "import './a.ts'"]]

interface Violation {
  from: string
  rule: { name: string }
}

// A rule with a mistyped path never fails, so each one must find a violation planted for it.
describe('the dependency rules', () => {
  let folder: string
  let violations: Violation[]

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'ambit-rules-'))
    plantProject(folder)
    violations = cruise(folder)
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const [rule, file, line] of PLANTED) {
    it(`${rule} refuses ${line} in ${file}`, () => {
      const found = violations
        .filter(({ from }) => from === file)
        .map(violation => violation.rule.name)
      assert.ok(found.includes(rule), `found only [${found.join(', ')}]`)
    })
  }

  it('what each layer may do is not reported', () => {
    const files = new Set(ALLOWED.map(([file]) => file))
    assert.deepEqual(
      violations.filter(({ from }) => files.has(from)),
      [],
    )
  })
})

function plantProject(folder: string): void {
  for (const name of ['package.json', 'tsconfig.json', '.dependency-cruiser.cjs']) {
    copyFileSync(name, join(folder, name))
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  for (const [file, line] of [
    ...PLANTED.map(([, file, line]) => [file, line] as const),
    ...ALLOWED,
    ...SUPPORTING,
  ]) {
    mkdirSync(join(folder, dirname(file)), { recursive: true })
    writeFileSync(join(folder, file), `${line}\nexport {}\n`)
  }
}

function cruise(folder: string): Violation[] {
  const program = resolve('node_modules/dependency-cruiser/bin/dependency-cruise.mjs')
  const args = [
    '--config',
    '.dependency-cruiser.cjs',
    '--preserve-symlinks',
    '--output-type',
    'json',
  ]
  const options = { cwd: folder, encoding: 'utf8' as const, maxBuffer: 64 * 1024 * 1024 }
  const roots = ['services', 'schemas', 'topologies', 'test']
  const { stdout } = spawnSync(process.execPath, [program, ...args, ...roots], options)
  const { summary } = JSON.parse(stdout) as { summary: { violations: Violation[] } }
  return summary.violations
}
