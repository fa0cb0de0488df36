import type { Command } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { KIND_NAMES } from '../object-kinds.ts'
import { type CommandTable, GLOBAL_OPTIONS } from '../parse-command-line.ts'
import { UsageError } from '../usage-error.ts'

/** `ambit completion bash`; the table is given, since this command stands in it. */
export function completion(table: () => CommandTable): Command {
  return {
    summary: 'Print a completion script for a shell.',
    arguments: ['bash'],
    notes: ['source <(ambit completion bash)'],
    async run({ args: [shell = ''], output }) {
      if (shell !== 'bash') {
        throw new UsageError('There is no completion for this shell.', {
          expected: 'bash',
          came: shell,
        })
      }
      output.text(bashCompletion(table()))
      return EXIT.ok
    },
  }
}

function bashCompletion(table: CommandTable): string {
  const names = Object.keys(table)
  const first = [...new Set(names.map(name => name.split(' ')[0]))]
  const groups = Map.groupBy(
    names.filter(name => name.includes(' ')),
    name => name.split(' ')[0] ?? '',
  )
  const words = (list: readonly string[]) =>
    `COMPREPLY=($(compgen -W '${list.join(' ')}' -- "$cur"))`
  const optionsOf = (name: string) =>
    Object.keys({ ...table[name]?.options, ...GLOBAL_OPTIONS }).map(option => `--${option}`)
  const optionCases = names.map(name => `      '${name}') ${words(optionsOf(name))} ;;`)
  const groupCases = [...groups].map(
    ([group, members]) =>
      `      ${group}) ${words(members.map(name => name.slice(group.length + 1)))} ;;`,
  )
  return [
    '_ambit() {',
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: this is bash.
    '  local cur="${COMP_WORDS[COMP_CWORD]}" name="${COMP_WORDS[1]}"',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    ${words(first.filter(word => word !== undefined))}`,
    '  elif [ "${cur:0:1}" = - ]; then',
    '    case "$name" in',
    `      ${[...groups.keys()].join('|')}) name="$name \${COMP_WORDS[2]}" ;;`,
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: this is bash.
    '    esac',
    '    case "$name" in',
    ...optionCases,
    '    esac',
    '  elif [ "$COMP_CWORD" -eq 2 ]; then',
    '    case "$name" in',
    ...groupCases,
    `      get|describe) ${words(KIND_NAMES)} ;;`,
    '    esac',
    '  fi',
    '}',
    'complete -o default -F _ambit ambit',
  ].join('\n')
}
