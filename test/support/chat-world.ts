/**
 * Conversations in memory: a mailbox that leases one message per session, the shipped executor with
 * the mock model and the example tools, and a background runner whose HTTP calls a test answers.
 */
import { createMockChat } from '#kernel/adapters/mock-model/mock-chat.ts'
import type { ChatModel } from '#kernel/ports/chat-model.ts'
import { createAgentHandler } from '#services/agent/executor/agent-executor.ts'
import type { ExecutorWorld } from '#services/agent/executor/work.ts'
import type { SessionKey } from '#services/agent/loop/session-store.ts'
import type { HttpRequest } from '#services/agent/operations/http-call.ts'
import type { Operation } from '#services/agent/operations/operation.ts'
import { createOperationRunner } from '#services/agent/operations/operation-runner.ts'
import type { OperationStore } from '#services/agent/operations/operation-store.ts'
import { deliverySummary } from '#services/agent/operations/pending-updates.ts'
import { listOperations } from '#services/agent/tools/list-operations.ts'
import { shippedTools } from '#services/agent/tools/shipped-tools.ts'
import type { Tool } from '#services/agent/tools/tool.ts'
import { createToolRegistry } from '#services/agent/tools/tool-registry.ts'
import type { Message, RunResult } from '#services/client/api.ts'
import { LIMITS, type MemorySessions, memorySessions } from './agent-world.ts'
import { createManualClock } from './manual-clock.ts'

export interface MemoryOperations extends OperationStore {
  all: Map<string, Operation>
  onChange(operation: Operation): void
}

export function memoryOperations(): MemoryOperations {
  const all = new Map<string, Operation>()
  const put = (operation: Operation) => {
    all.set(operation.id, operation)
    store.onChange(operation)
    return operation
  }
  const store: MemoryOperations = {
    all,
    onChange() {},
    ofSession: async ({ session }: SessionKey) =>
      [...all.values()].filter(operation => operation.session === session),
    accept: async operations => {
      for (const operation of operations) if (!all.has(operation.id)) put(operation)
    },
    change: async ({ id }, next) => {
      const current = all.get(id)
      const changed = current && next(current)
      return changed && put(changed)
    },
  }
  return store
}

/** An HTTP call that waits for its answer. */
export interface PendingCall extends HttpRequest {
  answer(answer: { status: number } | 'unavailable' | 'timed-out'): void
}

const SESSION = 's1'

export function chatWorld(options: { model?: ChatModel; tools?: Tool[] } = {}) {
  const parts = chatParts(options)
  return { ...parts, ...chatCommands(parts), ...chatViews(parts) }
}

type Parts = ReturnType<typeof chatParts>

function chatParts(options: { model?: ChatModel; tools?: Tool[] }) {
  const clock = createManualClock(1_000_000)
  const operations = memoryOperations()
  const store: MemorySessions = memorySessions()
  const queue: Message[] = []
  const known = new Set<string>()
  const results: { id: string; kind: string; result: RunResult | undefined; error?: Error }[] = []
  const calls: PendingCall[] = []
  const registry = createToolRegistry([
    ...shippedTools({ accessUrl: 'http://mock/access', ticketUrl: 'http://mock/tickets' }),
    listOperations(operations.ofSession),
    ...(options.tools ?? []),
  ])
  const enqueue = (id: string, input: object) => {
    if (known.has(id)) return
    known.add(id)
    queue.push(continuation(id, input))
  }
  const askClosing: ExecutorWorld['askClosing'] = async ({ batch }, name) =>
    enqueue(`follow-up/${batch}/${name}`, { kind: 'follow-up', input: { batch } })
  const loopClock = { now: clock.now, date: clock.now, sleep: clock.sleep }
  const executor: ExecutorWorld = {
    agent: 'assistant',
    model: options.model ?? createMockChat(),
    sessionsUnder: () => store,
    ...{ operations, registry, limits: LIMITS, clock: loopClock },
    prices: [],
    connectorTools: async () => [],
    rules: { isAllowed: () => true, isSensitiveForbiddenWhenWoken: false },
    waitingMessages: async session =>
      queue
        .filter(message => message.session === session)
        .map(message => ({ id: message.id, isPersons: kindOf(message) !== 'follow-up' })),
    askClosing,
    record() {},
  }
  const onRunnerError = { ignore: false }
  const makeRunner = () =>
    createOperationRunner({
      ...{ store: operations, clock: loopClock, findTool: registry.find },
      http: (request, signal) =>
        new Promise(resolve => {
          signal.addEventListener('abort', () => resolve('unavailable'))
          calls.push({ ...request, answer: resolve })
        }),
      askClosing,
      onError: error => {
        if (!onRunnerError.ignore) throw error
      },
    })
  const runner = { current: makeRunner() }
  operations.onChange = operation => runner.current.take(operation)
  const say = (text: string) => enqueue(`turn-${known.size}`, { kind: 'turn', input: { text } })
  return {
    clock,
    operations,
    store,
    queue,
    results,
    calls,
    registry,
    executor,
    runner,
    makeRunner,
    onRunnerError,
    say,
  }
}

function chatCommands({ clock, operations, queue, results, calls, executor, ...parts }: Parts) {
  const handler = createAgentHandler(executor)
  const workOne = async (message: Message, attempt = 1) => {
    const entry: (typeof results)[number] = {
      id: message.id,
      kind: kindOf(message),
      result: undefined,
    }
    results.push(entry)
    const context = {
      ...{ signal: new AbortController().signal, isLost: () => true, attempt },
      lease: () => ({ token: 1, handle: `handle-of-${message.id}`, expiresAt: '' }),
      emit: async () => ({ accepted: [] }),
      authorize: async () => ({ allowed: true, reason: 'allowed' }),
      ask: async () => {},
    }
    try {
      entry.result = await handler(message, context)
    } catch (error) {
      entry.error = error as Error
    }
    return entry
  }
  return {
    /** Works one message, as if claimed. */
    workOne,
    /** Works whatever is in the mailbox, one after the other: the session is never shared. */
    async work() {
      await clock.advance(1)
      for (let next = queue.shift(); next; next = queue.shift()) {
        await workOne(next)
        await clock.advance(1)
      }
    },
    /** Answers the HTTP calls that wait. */
    async answer(status: number | 'unavailable' | 'timed-out', which = (_: HttpRequest) => true) {
      const chosen = calls.filter(which)
      for (const call of chosen) {
        calls.splice(calls.indexOf(call), 1)
        call.answer(typeof status === 'number' ? { status } : status)
      }
      await clock.advance(1)
      return chosen.length
    },
    /** The process stops and another takes over what is durable. */
    async restart() {
      await parts.runner.current.stop()
      calls.length = 0
      parts.runner.current = parts.makeRunner()
      for (const operation of operations.all.values()) parts.runner.current.take(operation)
      await clock.advance(1)
    },
  }
}

function chatViews({ store, operations }: Parts) {
  const all = () => [...operations.all.values()]
  return {
    visible: () =>
      store.entries
        .filter(({ item }) => item.role !== 'tool' && item.text !== '')
        .map(({ item }) => ({ role: item.role, text: item.text })),
    said: () =>
      store.entries.flatMap(({ item }) =>
        item.role === 'assistant' && item.text !== '' ? [item.text] : [],
      ),
    states: () => all().map(({ state }) => state),
    summary: () => deliverySummary(all()),
  }
}

function kindOf({ input }: Message): string {
  return (input as { kind: string }).kind
}

function continuation(id: string, input: object): Message {
  return {
    ...{ id, kind: 'continuation', tenant: 'local', onBehalfOf: 'user:ana', agent: 'assistant' },
    ...{ session: SESSION, workspace: null, subscription: null, instruction: '', events: [] },
    ...{ evidence: [], lineage: [], policyVersion: 0, createdAt: '', expiresAt: null },
    ...{ state: 'leased', attempts: 1, input },
  }
}
