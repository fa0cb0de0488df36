/** One call of the program: parse, run the command, explain a failure, answer the exit code. */
import type { Client } from '#services/client/create-client.ts'
import type { CliWorld, CommandContext, Output } from './command.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'
import { explainFailure, failureText } from './explain-failure.ts'
import { findConnection } from './find-connection.ts'
import { commandText, overviewText } from './help-text.ts'
import { type CommandTable, type ParsedLine, parseCommandLine } from './parse-command-line.ts'
import { printableText } from './printable-text.ts'

/** Never rejects. */
export async function runCli(
  argv: readonly string[],
  table: CommandTable,
  world: CliWorld,
): Promise<ExitCode> {
  const output = outputTo(world, argv.includes('--json'))
  try {
    const line = parseCommandLine(argv, table)
    const command = table[line.name]
    if (!command) {
      output.text(overviewText(table))
      return line.flags.isSet('help') ? EXIT.ok : EXIT.usage
    }
    if (line.flags.isSet('help')) {
      output.text(commandText(line.name, command))
      return EXIT.ok
    }
    return await command.run(await contextOf(line, world, output))
  } catch (error) {
    if (world.interrupted.aborted) return EXIT.failed
    const failure = explainFailure(error)
    const { exit, ...told } = failure
    output.note(output.isJson ? JSON.stringify({ error: told }) : failureText(failure))
    return exit
  }
}

async function contextOf(
  { args, flags }: ParsedLine,
  world: CliWorld,
  output: Output,
): Promise<CommandContext> {
  const { url, key } = await findConnection(flags, world)
  let client: Client | undefined
  const connect = () => world.createClient({ url, ...(key === undefined ? {} : { key }) })
  return {
    ...{ args, flags, url, output, world },
    client: () => {
      client ??= connect()
      return client
    },
  }
}

function outputTo({ stdout, stderr }: CliWorld, isJson: boolean): Output {
  return {
    isJson,
    text: text => void stdout.write(`${printableText(text.replace(/\n$/, ''))}\n`),
    json: value => void stdout.write(`${printableText(JSON.stringify(value))}\n`),
    note: text => void stderr.write(`${printableText(text)}\n`),
  }
}
