#!/usr/bin/env node
/** The program `ambit`: the outside world, handed to `runCli`. */
import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { catalogueTopics, probeRedis } from '#kernel/host/infra-probes.ts'
import { createClient } from '#services/client/create-client.ts'
import type { CliWorld } from './command.ts'
import { COMMANDS } from './commands.ts'
import { EXIT } from './exit-codes.ts'
import { runCli } from './run-cli.ts'
import { runEmbedded } from './run-embedded.ts'

/** A call under way may end by itself; then the program goes, whatever hangs. */
const GRACE_MS = 1000
/** What a call of `up` hosts ends in its own time. */
let isHosting = false
const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupt.abort()
    if (!isHosting) setTimeout(() => process.exit(EXIT.failed), GRACE_MS).unref()
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
  readFile: path => (path === '-' ? text(process.stdin) : readFile(path, 'utf8')),
  folderProblem: path =>
    access(path, constants.R_OK | constants.W_OK).then(
      () => undefined,
      error => String(error.code),
    ),
  startEmbedded: args => {
    isHosting = true
    return runEmbedded(args)
  },
  infra: { topics: catalogueTopics, redis: probeRedis },
}

process.exitCode = await runCli(process.argv.slice(2), COMMANDS, world)
