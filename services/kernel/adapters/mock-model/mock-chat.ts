/**
 * A model that needs no credentials: it knows the requests of the guide, in English and Spanish,
 * and uses tools like a real one. Nothing of it is random and nothing leaves the process.
 */
import { guessLanguage } from '#kernel/domain/guess-language.ts'
import type {
  ChatAnswer,
  ChatItem,
  ChatModel,
  ChatRequest,
  ToolCall,
} from '#kernel/ports/chat-model.ts'
import type { Clock } from '#kernel/ports/clock.ts'
import { type AccessRequest, accessRequestIn, ticketRequestIn } from './read-request.ts'

type Language = 'en' | 'es'

const WORDS = {
  en: {
    webhook:
      'A webhook is an HTTP request that one system sends to another when something happens, so ' +
      'that the other need not keep asking.',
    hello:
      'This is the mock model. It can give access to applications, create tickets, say how the ' +
      'operations are going, and explain what a webhook is.',
    noOperations: 'There are no operations in this conversation.',
    operations: 'This is how the operations stand:',
    meanwhile: 'Meanwhile:',
    failed: 'Some of it did not work:',
    offer: 'Tell me if I shall try again.',
    done: 'Done.',
  },
  es: {
    webhook:
      'Un webhook es una petición HTTP que un sistema envía a otro cuando ocurre algo, para que ' +
      'el otro no tenga que preguntar una y otra vez.',
    hello:
      'Este es el modelo simulado. Puede dar acceso a aplicaciones, crear tickets, decir cómo ' +
      'van las operaciones y explicar qué es un webhook.',
    noOperations: 'No hay operaciones en esta conversación.',
    operations: 'Así van las operaciones:',
    meanwhile: 'Mientras tanto:',
    failed: 'Una parte no ha funcionado:',
    offer: 'Dime si lo intento de nuevo.',
    done: 'Hecho.',
  },
} as const

/** Ms between two words of an answer that somebody watches. */
const WORD_MS = 15

/**
 * Makes the mock; `model.name` is `mock`. With a clock it speaks word by word, as a real one does.
 */
export function createMockChat(clock?: Pick<Clock, 'sleep'>): ChatModel {
  return {
    name: 'mock',
    contextTokensMax: 128_000,
    async complete(request, signal, onText) {
      signal.throwIfAborted()
      const answer = answerTo(request)
      const words = answer.text?.split(/(?<=\s)/) ?? []
      for (let said = 1; onText && said <= words.length; said += 1) {
        onText(words.slice(0, said).join(''))
        await clock?.sleep(WORD_MS, signal)
      }
      const spent = (text: string) => Math.ceil(text.length / 4)
      return {
        ...{ isComplete: true, text: '', refusal: null, toolCalls: [], ...answer },
        usage: {
          inputTokens: spent(request.instructions + request.items.map(i => i.text).join('')),
          outputTokens: spent(JSON.stringify(answer)),
        },
      }
    },
  }
}

type Said = Partial<Pick<ChatAnswer, 'text' | 'toolCalls'>>

function answerTo({ instructions, items, tools }: ChatRequest): Said {
  const said = items.findLast(({ role }) => role === 'user')?.text ?? ''
  const language = guessLanguage(said)
  const results = resultsAfterUser(items)
  if (results.length > 0) return { text: afterTools(results, language) }
  const failed = sectionOf(said, 'operations-failed')
  if (failed) {
    const ended = sectionOf(said, 'operations-ended')
    const words = WORDS[/\bSpanish\b/.test(instructions) ? 'es' : 'en']
    return { text: [ended, words.failed, failed, words.offer].filter(Boolean).join('\n') }
  }
  const call = callFor(said, items.length)
  const isOffered = call && tools.some(({ name }) => name === call.name)
  if (isOffered) return { toolCalls: [call] }
  const before = items.at(-2)
  const news = before?.role === 'user' ? sectionOf(before.text, 'operations-ended') : undefined
  const broken = before?.role === 'user' ? sectionOf(before.text, 'operations-failed') : undefined
  const words = WORDS[language]
  const main = /webhook/i.test(said) ? words.webhook : words.hello
  const also = [news, broken].filter(Boolean)
  return { text: also.length > 0 ? [main, '', words.meanwhile, ...also].join('\n') : main }
}

/** What stands between `<name>` and `</name>`. */
function sectionOf(text: string, name: string): string | undefined {
  const start = text.indexOf(`<${name}>`)
  const end = text.indexOf(`</${name}>`, start)
  return start < 0 || end < 0 ? undefined : text.slice(start + name.length + 2, end).trim()
}

function resultsAfterUser(items: ChatItem[]): string[] {
  const last = items.findLastIndex(({ role }) => role === 'user')
  return items.slice(last + 1).flatMap(item => (item.role === 'tool' ? [item.text] : []))
}

function callFor(said: string, turn: number): ToolCall | undefined {
  const call = (name: string, args: unknown): ToolCall => ({
    id: `call_${turn}_${name}`,
    name,
    arguments: JSON.stringify(args),
  })
  const accesses = accessRequestIn(said)
  if (accesses) return call('provision_access_async', { accesses: accesses.map(withoutBlanks) })
  const ticket = ticketRequestIn(said)
  if (ticket) return call('create_ticket_async', ticket)
  if (/\b(operaciones|operations)\b/i.test(said)) return call('list_operations', {})
  return undefined
}

/** What the person did not say is left out, so that the tool asks for it. */
function withoutBlanks(access: AccessRequest): Partial<AccessRequest> {
  return Object.fromEntries(Object.entries(access).filter(([, value]) => value !== ''))
}

function afterTools(results: string[], language: Language): string {
  const words = WORDS[language]
  const texts = results.map(result => {
    const operations = operationsIn(result)
    if (!operations) return result.replace(/^(refused|failed|accepted): /, '')
    if (operations.length === 0) return words.noOperations
    const lines = operations.map(({ target, state }) => `- ${target}: ${state}`)
    return [words.operations, ...lines].join('\n')
  })
  return texts.join('\n') || words.done
}

function operationsIn(result: string): { target: string; state: string }[] | undefined {
  if (!result.startsWith('{"operations":')) return undefined
  try {
    const parsed = JSON.parse(result) as { operations: { target: string; state: string }[] }
    return parsed.operations
  } catch {
    return undefined
  }
}
