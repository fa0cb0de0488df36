/**
 * A model that does what the task says, step after step: `Task 3: look; grant 2; note`. Asked
 * again it may choose other arguments, as models do; when it is out of sorts it times out, is
 * empty, refuses, is cut off, or asks for what is not there (F18).
 */
import {
  type ChatAnswer,
  type ChatItem,
  type ChatModel,
  type ChatRequest,
  ModelFailure,
  type ToolCall,
} from '#kernel/ports/chat-model.ts'
import type { Random } from '../random.ts'
import { type AgentSeat, heard, whenAborted } from './agent-sim.ts'

type Said = Partial<ChatAnswer>

const USAGE = { inputTokens: 100, outputTokens: 20 }

export function scriptedModel(seat: AgentSeat): ChatModel {
  const { sim, random, process } = seat
  const answer = async (request: ChatRequest, signal: AbortSignal): Promise<ChatAnswer> => {
    const isCalm = !sim.world.faults.isActive()
    const isSlow = !isCalm && random.chance(0.04)
    await process.clock.sleep(isSlow ? random.between(1500, 3500) : random.between(5, 300), signal)
    const isBad = sim.world.faults.strikes('F18', 0.12)
    const said = isBad ? await nonsense(seat, request, signal) : saidTo(request, random)
    const plain = { isComplete: true, text: '', refusal: null, toolCalls: [], usage: USAGE }
    return { ...plain, ...said }
  }
  return {
    ...{ name: 'scripted', contextTokensMax: 9000 },
    complete: (request, signal) =>
      heard(seat, () => Promise.race([answer(request, signal), whenAborted(signal)])),
  }
}

function saidTo({ items }: ChatRequest, random: Random): Said {
  const last = items.findLastIndex(({ role }) => role === 'user')
  const said = items[last]?.text ?? ''
  const done = items
    .slice(last + 1)
    .filter(item => item.role === 'assistant' && item.toolCalls.length > 0).length
  const news = items.slice(Math.max(0, last - 1)).flatMap(newsIn)
  if (said.startsWith('<operations-') && done === 0 && random.chance(0.3)) {
    return { toolCalls: [called('look', { to: nonce(random) }, random)] }
  }
  const steps = /^(?:Task|Handle) \w+: ([^\n]*)/.exec(said)?.[1]?.split('; ') ?? []
  const step = said.startsWith('You asked: ') ? answeredStep(said) : steps[done]
  const toolCalls = step && (done === 0 || steps.length > 0) ? callsOf(step, random) : []
  if (toolCalls.length > 0) return { toolCalls }
  return { text: [`Answer to ${said.slice(0, 20).replaceAll('<', '')}.`, ...news].join('\n') }
}

/** Lines that the run was handed about ended operations. */
function newsIn(item: ChatItem): string[] {
  if (item.role !== 'user' || !item.text.startsWith('<operations-')) return []
  return item.text.split('\n').filter(line => line.startsWith('- '))
}

/** After a yes the very call is made again, with the arguments that were shown or edited. */
function answeredStep(said: string): string | undefined {
  const asked = /May (\w+) run with (\{.*?\})\?/.exec(said)
  if (!asked) return undefined
  if (said.includes('decided "accept"')) return `exactly ${asked[1]} ${asked[2]}`
  const edited = /decided "edit": \S+: (\{.*?\})/.exec(said)
  return edited ? `exactly ${asked[1]} ${edited[1]}` : undefined
}

function callsOf(step: string, random: Random): ToolCall[] {
  const [name = '', ...words] = step.split(' ')
  const to = () => ({ to: nonce(random) })
  const grant = (flaw = '') =>
    called(
      'provision_access_async',
      {
        accesses: Array.from({ length: Number(words[0] ?? 1) }, () => ({
          ...{
            user_email: `${nonce(random)}${flaw}@x.example`,
            application: 'Jira',
            role: 'admin',
          },
        })),
      },
      random,
    )
  const ticket = () =>
    called('create_ticket_async', { title: nonce(random), priority: 'high' }, random)
  const kinds: Record<string, () => ToolCall[]> = {
    exactly: () => [called(words[0] ?? '', words.slice(1).join(' '), random)],
    look: () => [called('look', to(), random)],
    note: () => [called('leave_note', to(), random)],
    notes: () => [called('leave_note', to(), random), called('leave_note', to(), random)],
    pay: () => [called('pay', to(), random)],
    mail: () => [called('send_mail', to(), random)],
    grant: () => [grant()],
    refused: () => [grant('refuse')],
    ticket: () => [ticket()],
    both: () => [grant(), ticket()],
    mixed: () => [called('look', to(), random), ticket()],
    flood: () => Array.from({ length: 200 }, () => called('look', to(), random)),
    bad: () => [called('leave_note', '{"to": ', random), called('nothing', to(), random)],
    forbidden: () => [called('forbidden', to(), random)],
    list: () => [called('list_operations', {}, random)],
  }
  return kinds[name]?.() ?? []
}

const nonce = (random: Random) => `n${random.hex().slice(0, 10)}`

function called(name: string, args: unknown, random: Random): ToolCall {
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  return { id: `c${random.hex().slice(0, 8)}`, name, arguments: text }
}

async function nonsense(
  { sim, random }: AgentSeat,
  request: ChatRequest,
  signal: AbortSignal,
): Promise<Said> {
  const cut = () => {
    const toolCalls = callsOf('note', random)
    sim.facts.cutOff.push(toolCalls[0]?.arguments ?? '')
    return { isComplete: false, text: 'I was going to', toolCalls }
  }
  const twice = () => {
    const [one] = callsOf('note', random)
    return { toolCalls: one ? [one, { ...one }] : [] }
  }
  const fails = (error: Error) => () => {
    throw error
  }
  const overflow = { reason: 'context-overflow' } as const
  return random.pick<() => Said | Promise<Said>>([
    () => whenAborted(signal),
    () => whenAborted(signal),
    fails(new ModelFailure('away', { status: 503 })),
    fails(new ModelFailure('too long', overflow)),
    fails(new TypeError('an adapter is broken')),
    () => ({}),
    () => ({ text: '  ' }),
    () => ({ refusal: 'I would rather not.' }),
    cut,
    cut,
    twice,
    () => ({ toolCalls: callsOf('flood', random) }),
    () => ({ toolCalls: callsOf('bad', random) }),
    () => ({ toolCalls: callsOf('forbidden', random) }),
    () => ({ ...saidTo(request, random), isComplete: false }),
  ])()
}
