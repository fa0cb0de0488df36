/** From words to a command with its arguments, or a clear refusal. */
import { parseArgs } from 'node:util'
import type { Command, Flags, OptionRow } from './command.ts'
import { counted } from './cost-text.ts'
import { UsageError } from './usage-error.ts'

export type CommandTable = Readonly<Record<string, Command>>

export const GLOBAL_OPTIONS = {
  url: { type: 'string', value: 'URL', help: 'Address of the API (AMBIT_URL).' },
  key: { type: 'string', value: 'KEY', help: 'API key (AMBIT_API_KEY, .ambit/api-key).' },
  json: { type: 'boolean', help: 'Print JSON, for programs.' },
  help: { type: 'boolean', short: 'h', help: 'Show this help.' },
} as const satisfies Record<string, OptionRow>

export interface ParsedLine {
  /** Name of the command as in the table; empty when none was given. */
  name: string
  args: string[]
  flags: Flags
}

/** Names of two words are tried first. Throws `UsageError`. */
export function parseCommandLine(argv: readonly string[], table: CommandTable): ParsedLine {
  const { name, rest } = splitName(argv, table)
  const command = table[name]
  const options = { ...GLOBAL_OPTIONS, ...command?.options }
  const { values, positionals } = strictly(() =>
    parseArgs({ args: rest, options, allowPositionals: true, strict: true }),
  )
  const flags = flagsOf(values)
  if (command && !flags.isSet('help')) checkArguments(name, command, positionals)
  return { name, args: positionals, flags }
}

function splitName(argv: readonly string[], table: CommandTable): { name: string; rest: string[] } {
  const { tokens } = parseArgs({
    args: [...argv],
    options: GLOBAL_OPTIONS,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const words = tokens.filter(token => token.kind === 'positional')
  const [first, second] = words
  if (!first) return { name: '', rest: [...argv] }
  const both = second && `${first.value} ${second.value}`
  const without = (...indexes: number[]) => argv.filter((_, index) => !indexes.includes(index))
  if (both && Object.hasOwn(table, both)) {
    return { name: both, rest: without(first.index, second.index) }
  }
  if (Object.hasOwn(table, first.value)) return { name: first.value, rest: without(first.index) }
  throw unknownCommand(first.value, table)
}

function unknownCommand(word: string, table: CommandTable): UsageError {
  const actions = Object.keys(table).filter(name => name.startsWith(`${word} `))
  if (actions.length === 0) {
    return new UsageError(`There is no command ${word}.`, {
      came: word,
      todo: 'See `ambit --help` for the commands.',
    })
  }
  return new UsageError(`The command ${word} needs to know what to do.`, {
    expected: actions.map(name => name.slice(word.length + 1)).join(', '),
    todo: `See \`ambit ${actions[0]} --help\`.`,
  })
}

function strictly<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    // The first sentence says what is wrong; the rest is about Node's own rules.
    throw new UsageError(`${error.message.split('. ')[0]?.replace(/\.$/, '')}.`, {
      todo: 'See the command with --help for its options.',
    })
  }
}

function checkArguments(name: string, command: Command, given: readonly string[]): void {
  const { arguments: wanted } = command
  const min = wanted.filter(argument => !argument.startsWith('[')).length
  const max = wanted.some(argument => argument.includes('...')) ? Infinity : wanted.length
  if (given.length >= min && given.length <= max) return
  throw new UsageError(`Wrong number of arguments for ${name}.`, {
    expected: `ambit ${[name, ...wanted].join(' ')}`,
    came: counted(given.length, 'argument'),
    todo: `See \`ambit ${name} --help\`.`,
  })
}

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>

function flagsOf(values: Values): Flags {
  const text = (name: string) => {
    const value = values[name]
    return typeof value === 'string' ? value : undefined
  }
  return {
    text,
    texts: name => [values[name] ?? []].flat().filter(value => typeof value === 'string'),
    isSet: name => values[name] === true,
    required(name) {
      const value = text(name)
      if (value !== undefined && value !== '') return value
      throw new UsageError(`The option --${name} is needed.`, {
        expected: `--${name} VALUE`,
        came: value === undefined ? 'nothing' : 'an empty text',
        todo: `Add --${name} and a text in quotes; --help says what it is for.`,
      })
    },
    count(name, min = 0) {
      const value = text(name)
      if (value === undefined) return undefined
      const count = Number(value)
      if (/^\d+$/.test(value) && count >= min && Number.isSafeInteger(count)) return count
      throw new UsageError(`The option --${name} needs a whole number.`, {
        expected: `a whole number, at least ${min}`,
        came: value,
      })
    },
  }
}
