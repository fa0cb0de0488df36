import type { Command, OptionRow } from './command.ts'
import { type CommandTable, GLOBAL_OPTIONS } from './parse-command-line.ts'

/** What `ambit --help` shows. */
export function overviewText(table: CommandTable): string {
  const width = Math.max(...Object.keys(table).map(name => name.length)) + 2
  const lines = Object.entries(table).map(
    ([name, { summary }]) => `  ${name.padEnd(width)}${summary}`,
  )
  return [
    'ambit: events wake agents, under subscriptions, budgets and policy.',
    '',
    'Usage: ambit COMMAND [ARGUMENTS] [OPTIONS]',
    '',
    'Commands:',
    ...lines,
    '',
    'Options of every command:',
    ...optionLines(GLOBAL_OPTIONS),
    '',
    'Exit codes: 0 done, 1 refused or failed, 2 usage, 3 unreachable, 4 not found.',
    'More about one command: ambit COMMAND --help',
  ].join('\n')
}

/** What `ambit COMMAND --help` shows. */
export function commandText(name: string, command: Command): string {
  const { summary, arguments: wanted, options, notes } = command
  const usage = ['ambit', name, ...wanted, '[OPTIONS]'].join(' ')
  return [
    summary,
    '',
    `Usage: ${usage}`,
    ...(options ? ['', 'Options:', ...optionLines(options)] : []),
    '',
    'Options of every command:',
    ...optionLines(GLOBAL_OPTIONS),
    ...(notes ? ['', ...notes] : []),
  ].join('\n')
}

function optionLines(options: Readonly<Record<string, OptionRow>>): string[] {
  const rows = Object.entries(options).map(([name, { type, short, value, help }]) => {
    const long = `--${name}${type === 'string' ? ` ${value ?? 'VALUE'}` : ''}`
    return { names: short ? `-${short}, ${long}` : long, help }
  })
  const width = Math.max(...rows.map(({ names }) => names.length)) + 2
  return rows.map(({ names, help }) => `  ${names.padEnd(width)}${help}`)
}
