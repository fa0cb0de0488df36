/** A turn's surroundings in memory: a model that says what a test wrote, a history to look at. */
import { z } from 'zod'
import type {
  ChatAnswer,
  ChatItem,
  ChatModel,
  ChatRequest,
  ToolCall,
} from '#kernel/ports/chat-model.ts'
import type {
  BatchIntent,
  HistoryEntry,
  SessionKey,
  SessionStore,
} from '#services/agent/loop/session-store.ts'
import { LIMIT_SETTINGS, type TurnLimits, turnLimitsOf } from '#services/agent/loop/turn-limits.ts'
import type { TurnInput, TurnWorld } from '#services/agent/loop/turn-state.ts'
import {
  type DispatchRun,
  type DispatchWorld,
  dispatchTool,
  type ToolEffect,
} from '#services/agent/tools/dispatch-tool.ts'
import type { Tool, ToolContext, ToolOutput } from '#services/agent/tools/tool.ts'
import { createToolRegistry } from '#services/agent/tools/tool-registry.ts'
import { createManualClock, type ManualClock } from './manual-clock.ts'

/** One scripted answer; a function sees the request and the signal. */
export type ScriptedTurn =
  | Partial<ChatAnswer>
  | Error
  | ((request: ChatRequest, signal: AbortSignal) => Promise<Partial<ChatAnswer>>)

export interface ScriptedModel extends ChatModel {
  requests: ChatRequest[]
}

/** A model that answers in the given order; the last answer is repeated for ever. */
export function scriptedModel(...script: ScriptedTurn[]): ScriptedModel {
  const requests: ChatRequest[] = []
  return {
    name: 'scripted',
    contextTokensMax: 128_000,
    requests,
    async complete(request, signal) {
      requests.push(request)
      const next = script[Math.min(requests.length, script.length) - 1] ?? {}
      if (next instanceof Error) throw next
      const said = typeof next === 'function' ? await next(request, signal) : next
      const usage = { inputTokens: 100, outputTokens: 10 }
      return { isComplete: true, text: '', refusal: null, toolCalls: [], usage, ...said }
    },
  }
}

/** A tool call with an id that follows from its place. */
export function callOf(name: string, args: unknown, id = `call-${name}`): ToolCall {
  return { id, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) }
}

/** A store in memory. `crashAfter` writes, everything rejects, as if the process had died. */
export interface MemorySessions extends SessionStore {
  entries: HistoryEntry[]
  intents: Map<string, BatchIntent>
  writes: number
  crashAfter: number
}

export function memorySessions(): MemorySessions {
  const write = async (work: () => void) => {
    if (store.writes >= store.crashAfter) throw new Error('crashed')
    store.writes += 1
    work()
  }
  const store: MemorySessions = {
    entries: [],
    intents: new Map(),
    writes: 0,
    crashAfter: Number.POSITIVE_INFINITY,
    history: async () => [...store.entries],
    append: (_key, entries) => write(() => store.entries.push(...entries)),
    openIntent: (_key, intent) => write(() => store.intents.set(intent.messageId, intent)),
    findIntent: async (_key, messageId) => store.intents.get(messageId),
    closeIntent: (_key, messageId) => write(() => store.intents.delete(messageId)),
  }
  return store
}

export interface FakeTool {
  name?: string
  effect?: Tool['effect']
  egress?: boolean
  isPrivate?: boolean
  isTrusted?: boolean
  timeoutMs?: number
  outputMax?: number
  target?: Tool['target']
  run?: (args: Record<string, unknown>, context: ToolContext) => Promise<ToolOutput>
}

/** A tool that takes `{to}` and remembers what it did, by idempotency key. */
export function fakeTool(given: FakeTool = {}): Tool & { effects: Map<string, number> } {
  const effects = new Map<string, number>()
  const schema = z.strictObject({ to: z.string() })
  return {
    name: 'look',
    description: 'Looks.',
    schema,
    parameters: { ...z.toJSONSchema(schema) },
    effect: 'read',
    effects,
    run: async (_args, { idempotencyKey }) => {
      effects.set(idempotencyKey, (effects.get(idempotencyKey) ?? 0) + 1)
      return 'looked'
    },
    ...given,
  }
}

export const LIMITS: TurnLimits = turnLimitsOf(z.object(LIMIT_SETTINGS).parse({}))
export const KEY: SessionKey = { tenant: 'local', session: 's1' }

export interface AgentWorld {
  world: TurnWorld
  input: TurnInput
  run: DispatchRun
  dispatchWorld: DispatchWorld
  clock: ManualClock
  store: MemorySessions
  stop: AbortController
  /** Effects that were authorized, or refused, in order. */
  effects: ToolEffect[]
  items(): ChatItem[]
}

export interface AgentParts {
  model: ChatModel
  tools?: Tool[]
  limits?: Partial<TurnLimits>
  store?: MemorySessions
  /** Why an effect is refused; undefined allows it. */
  refuse?(effect: ToolEffect): string | undefined
  goOn?: string
  run?: Partial<DispatchRun>
}

/** A turn of message `m1` in session `s1`, opened with "Hello". */
export function agentWorld(parts: AgentParts): AgentWorld {
  const clock = createManualClock(1_000_000)
  const store = parts.store ?? memorySessions()
  const registry = createToolRegistry(parts.tools ?? [])
  const stop = new AbortController()
  const effects: ToolEffect[] = []
  const dispatchWorld: DispatchWorld = {
    registry,
    isAllowed: ({ name }) => name !== 'forbidden',
    isSensitiveForbidden: false,
    async authorize(effect) {
      effects.push(effect)
      const reason = parts.refuse?.(effect)
      return { allowed: reason === undefined, reason: reason ?? 'allowed' }
    },
    clock,
  }
  const run: DispatchRun = {
    ...{ messageId: 'm1', ...KEY, language: 'en', signal: stop.signal },
    exposure: { hasUntrusted: false, hasPrivate: false },
    accept: async () => {},
    ...parts.run,
  }
  const world: TurnWorld = {
    model: parts.model,
    store,
    clock: { now: clock.now, date: clock.now, sleep: clock.sleep },
    limits: { ...LIMITS, ...parts.limits },
    tools: registry.describe(() => true),
    dispatch: call => dispatchTool(dispatchWorld, run, call),
    isRead: name => (registry.find(name)?.effect ?? 'read') === 'read',
    mayGoOn: async () => ({ allowed: parts.goOn === undefined, reason: parts.goOn ?? 'allowed' }),
  }
  const input: TurnInput = {
    ...{ messageId: 'm1', key: KEY, instructions: 'Be short.', opening: 'Hello' },
    signal: stop.signal,
    interruption: reason => (reason === 'cancelled' ? 'cancelled' : 'lease-lost'),
  }
  const items = () => store.entries.map(({ item }) => item)
  return { world, input, run, dispatchWorld, clock, store, stop, effects, items }
}

/** Ids of tool calls without a result and of results without a call. */
export function orphansIn(items: ChatItem[]): string[] {
  const called = items.flatMap(item =>
    item.role === 'assistant' ? item.toolCalls.map(({ id }) => id) : [],
  )
  const answered = items.flatMap(item => (item.role === 'tool' ? [item.callId] : []))
  return [
    ...called.filter(id => !answered.includes(id)),
    ...answered.filter(id => !called.includes(id)),
  ]
}
