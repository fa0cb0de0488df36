import { type Check, checkApi } from '../check-api.ts'
import { checkSurroundings } from '../check-surroundings.ts'
import type { Command, CommandContext } from '../command.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { formatTable } from '../format-table.ts'

const COLUMNS = [
  ['CHECK', 'check'],
  ['STATE', 'state'],
  ['FOUND', 'found'],
] as const

/** `ambit doctor`: every dependency, and what to do. */
export const doctor: Command = {
  summary: 'Check the API and everything it depends on, and say what to do.',
  arguments: [],
  notes: [
    'Kafka, Redis and the schema registry are checked where AMBIT_KAFKA_BROKERS, AMBIT_REDIS_URL',
    'and AMBIT_SCHEMA_REGISTRY_URL name them. Exit codes: 0 all well, 1 something failed, 3 the',
    'API cannot be reached.',
  ],
  async run(context) {
    const api = await checkApi(context)
    const checks = [...api, ...(await checkSurroundings(context))]
    show(context, checks)
    return exitOf(api, checks)
  },
}

function show({ output }: CommandContext, checks: readonly Check[]): void {
  if (output.isJson) {
    output.json({ items: checks })
    return
  }
  output.text(formatTable(COLUMNS, checks))
  for (const { check, found, todo } of checks) {
    if (todo) output.text(`${check}: ${found}\n  do        ${todo}`)
  }
}

function exitOf(api: readonly Check[], checks: readonly Check[]): ExitCode {
  if (api[0]?.state === 'failed') return EXIT.unreachable
  return checks.some(({ state }) => state === 'failed') ? EXIT.failed : EXIT.ok
}
