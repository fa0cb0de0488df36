/** What people read about finished operations. Successes are told without a model. */
import type { FailedOutcome, Language, Tool } from '../tools/tool.ts'
import type { FailureWord, Operation } from './operation.ts'

type FindTool = (name: string) => Tool | undefined

const WHY: Record<Language, Record<FailureWord, string>> = {
  en: {
    refused: 'the service refused it',
    unavailable: 'the service is not available',
    'timed-out': 'the service did not answer in time',
    'tool-removed': 'the tool is not there any more',
  },
  es: {
    refused: 'el servicio lo ha rechazado',
    unavailable: 'el servicio no está disponible',
    'timed-out': 'el servicio no ha respondido a tiempo',
    'tool-removed': 'la herramienta ya no existe',
  },
}

const HEAD = {
  en: { all: 'Done:', some: 'This is how it ended:' },
  es: { all: 'Listo:', some: 'Así ha terminado:' },
} as const

/** One finished operation in one line, in the language of whoever asked for it. */
export function outcomeLine(operation: Operation, findTool: FindTool): string {
  const { tool, item, outcome, language, target } = operation
  const spec = findTool(tool)?.operation
  if (outcome?.ok) return spec?.succeeded(item, language) ?? `${tool}: ${target}`
  const failed: FailedOutcome = {
    ...(outcome?.ok === false ? outcome : { why: 'unavailable' as const }),
    text: WHY[language][outcome?.ok === false ? outcome.why : 'unavailable'],
  }
  return spec?.failed(item, failed, language) ?? `${tool}: ${target}: ${failed.text}`
}

/** The one message that closes operations; needs at least one. */
export function closingText(operations: Operation[], findTool: FindTool): string {
  const lines = operations.map(operation => outcomeLine(operation, findTool))
  const language = operations[0]?.language ?? 'en'
  const head = operations.every(({ outcome }) => outcome?.ok)
    ? HEAD[language].all
    : HEAD[language].some
  const [only] = lines
  if (lines.length === 1 && only !== undefined) return `${head} ${only}`
  return [head, ...lines.map(line => `- ${line}`)].join('\n')
}

/** The same for a model: context of one turn, not part of the conversation. */
export function closingContext(operations: Operation[], findTool: FindTool): string {
  const list = (all: Operation[]) => all.map(each => `- ${outcomeLine(each, findTool)}`).join('\n')
  const ended = operations.filter(({ outcome }) => outcome?.ok)
  const failed = operations.filter(({ outcome }) => !outcome?.ok)
  return [
    ended.length > 0 ? `<operations-ended>\n${list(ended)}\n</operations-ended>` : '',
    failed.length > 0 ? `<operations-failed>\n${list(failed)}\n</operations-failed>` : '',
  ]
    .filter(Boolean)
    .join('\n')
}
