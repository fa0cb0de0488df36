#!/usr/bin/env node
/** The program `ambit`: the outside world, handed to `runCli`. */
import { spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { catalogueTopics, probeRedis } from '#kernel/host/infra-probes.ts'
import { createClient } from '#services/client/create-client.ts'
import type { CliWorld } from './command.ts'
import { COMMANDS } from './commands.ts'
import { runCli } from './run-cli.ts'

/** A call under way may end by itself; then the program goes, whatever hangs. */
const GRACE_MS = 1000
/** What a call of `up` hosts ends in its own time. */
let isHosting = false
const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupt.abort()
    if (!isHosting) setTimeout(() => process.exit(), GRACE_MS).unref()
  })
}
// A reader that closes the pipe (`ambit get … | head`) ends the program, quietly.
process.stdout.on('error', () => process.exit(0))

// Node 26 warns about a timer of kafkajs at each connection; it means nothing to a person.
process.removeAllListeners('warning')
process.on('warning', ({ name, message }) => {
  if (name !== 'TimeoutNegativeWarning') process.stderr.write(`${name}: ${message}\n`)
})

const world: CliWorld = {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  interrupted: interrupt.signal,
  // A person waits for the answer: fewer attempts than a service makes.
  createClient: options => createClient({ attemptsMax: 3, ...options }),
  fetch,
  readFile: path => readFile(path === '-' ? '/dev/stdin' : path, 'utf8'),
  folderProblem: path =>
    access(path, constants.R_OK | constants.W_OK).then(
      () => undefined,
      error => String(error.code),
    ),
  startEmbedded,
  infra: { topics: catalogueTopics, redis: probeRedis },
}

process.exitCode = await runCli(process.argv.slice(2), COMMANDS, world)

/** The child gets an interrupt of the terminal by itself; a termination is passed on. */
function startEmbedded(args: readonly string[]): Promise<number> {
  const main = fileURLToPath(new URL('../embedded/main.ts', import.meta.url))
  const env = { NODE_ENV: 'production', ...process.env }
  isHosting = true
  const child = spawn(process.execPath, [main, ...args], { stdio: 'inherit', env })
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => resolve(code ?? 1))
  })
}
