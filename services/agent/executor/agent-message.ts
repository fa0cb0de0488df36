/** What a message asks of the agent, read once: its words, its language, its origin. */
import { guessLanguage } from '#kernel/domain/guess-language.ts'
import type { Message } from '#services/client/api.ts'
import type { Approval } from '../tools/dispatch-tool.ts'
import type { Language } from '../tools/tool.ts'
import { untrustedText } from '../tools/untrusted-text.ts'

export interface AgentMessage {
  kind: 'activation' | 'turn' | 'follow-up' | 'answer'
  /** What the turn begins with, for the model. */
  opening: string
  /** The same as people see it: without fenced data. */
  shown: string
  language: Language
  approval?: Approval
  /** The run begins with content of strangers in hand. */
  hasUntrusted: boolean
}

/** Characters of one fenced event or quote, and of all that a turn begins with. */
const FENCED_MAX = 20_000
const OPENING_MAX = 200_000

/** Reads whatever an executor may find in a mailbox; what it does not know is shown as it is. */
export function readAgentMessage(message: Message): AgentMessage {
  const input = objectOf(message.input)
  if (message.kind === 'continuation' && input?.kind === 'answer') return answerOf(input)
  if (message.kind === 'continuation' && input?.kind === 'follow-up') {
    const nothing = { opening: '', shown: '', language: 'en' as const, hasUntrusted: false }
    return { kind: 'follow-up', ...nothing }
  }
  if (message.kind === 'continuation') return turnOf(input?.input ?? message.input)
  return activationOf(message)
}

function turnOf(input: unknown): AgentMessage {
  const members = objectOf(input)
  const said = members?.text ?? members?.message ?? input
  const text = bounded(typeof said === 'string' ? said : JSON.stringify(said ?? ''), FENCED_MAX)
  const given = members?.language
  const language = given === 'es' || given === 'en' ? given : guessLanguage(text)
  return { kind: 'turn', opening: text, shown: text, language, hasUntrusted: false }
}

/** The instruction goes in as such; what events and judges brought is fenced, with its origin. */
function activationOf({ instruction, events, evidence }: Message): AgentMessage {
  const fenced = [
    ...events.map(event =>
      untrustedText(
        `event ${event.source} ${event.id} (${event.type})`,
        bounded(JSON.stringify(event.data) ?? 'no data', FENCED_MAX),
      ),
    ),
    ...evidence.map(({ quote, source, pointer }) =>
      untrustedText(`evidence from ${source}${pointer}`, bounded(quote, FENCED_MAX)),
    ),
  ]
  return {
    kind: 'activation',
    opening: [instruction, ...withinBound(fenced)].join('\n\n'),
    shown: instruction,
    language: guessLanguage(instruction),
    hasUntrusted: fenced.length > 0,
  }
}

/** Whole pieces only: a mark that is cut off would not close. */
function withinBound(pieces: string[]): string[] {
  let left = OPENING_MAX
  const kept = pieces.filter(piece => {
    left -= piece.length
    return left >= 0
  })
  const missing = pieces.length - kept.length
  return missing === 0 ? kept : [...kept, `[${missing} more pieces were left out]`]
}

const YES = { en: 'Yes', es: 'Sí' } as const
const NO = { en: 'No', es: 'No' } as const

function answerOf(input: Record<string, unknown>): AgentMessage {
  const question = typeof input.question === 'string' ? input.question : ''
  const said = typeof input.text === 'string' ? input.text : ''
  const reason = typeof input.reason === 'string' ? input.reason : ''
  const language = guessLanguage(`${question} ${said}`)
  const decision = decisionOf(input.decision)
  const word = decision === 'accept' || decision === 'edit' ? YES[language] : NO[language]
  const args = decision === 'edit' ? JSON.stringify(input.args) : ''
  const own = decision === 'respond' ? said : [word, args, said, reason].filter(Boolean).join(': ')
  const effect = objectOf(input.effect)
  const tool = typeof effect?.tool === 'string' ? effect.tool : undefined
  const target = typeof effect?.target === 'string' ? { target: effect.target } : {}
  return {
    kind: 'answer',
    opening: `You asked: ${question}\nThe person decided "${decision}": ${own}`,
    shown: own,
    language,
    ...(tool ? { approval: { tool, ...target, decision, args: input.args } } : {}),
    hasUntrusted: false,
  }
}

/** Anything but a clear yes is none. */
function decisionOf(value: unknown): Approval['decision'] {
  return value === 'accept' || value === 'edit' || value === 'respond' ? value : 'ignore'
}

function bounded(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}\n[cut after ${max} characters]`
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? { ...value } : undefined
}
