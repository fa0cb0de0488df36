/** What one turn is given, what it knows while it runs, and what comes of it. */
import type { ChatItem, ChatModel, ToolCall, ToolDescription } from '#kernel/ports/chat-model.ts'
import type { PendingQuestion, ToolOutcome } from '../tools/dispatch-tool.ts'
import type {
  HistoryEntry,
  SessionCause,
  SessionKey,
  SessionStore,
  Telling,
} from './session-store.ts'
import type { StopReason } from './stop-reason.ts'
import type { TurnLimits } from './turn-limits.ts'

/** Time of this process: `now` is monotonic ms, `date` is for people. */
export interface LoopClock {
  now(): number
  date(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Something that happened in a turn; a logger joins them by message id. */
export type TurnRecord =
  | {
      kind: 'model-call'
      ms: number
      isComplete: boolean
      inputTokens: number
      outputTokens: number
    }
  | { kind: 'tool-call'; tool: string; callId: string; outcome: ToolOutcome['outcome'] }
  | { kind: 'stopped'; stopReason: StopReason; code?: string }

export interface TurnWorld {
  model: ChatModel
  store: SessionStore
  clock: LoopClock
  limits: TurnLimits
  tools: ToolDescription[]
  dispatch(call: ToolCall): Promise<ToolOutcome>
  /** Is the tool's effect `read`? Only other tools need an intent before they run. */
  isRead(name: string): boolean
  /** Revalidates the run itself before each model call: stops, subscription, budgets. */
  mayGoOn(): Promise<{ allowed: boolean; reason: string }>
  record?(entry: TurnRecord): void
  /** Shows the text of an answer while it comes; undefined once it is kept, or is none. */
  onDraft?(text: string | undefined): void
}

/** Results of operations that a turn takes into the conversation. */
export interface News {
  tells: Telling
  /** For the model alone, in this turn alone: the history does not keep it. */
  context: string
  /** The same for people, where the turn ends without the model's own words. */
  text: string
}

export interface TurnInput {
  messageId: string
  key: SessionKey
  instructions: string
  /** What this turn begins with; absent on a closing that nobody asked for. */
  opening?: string
  /** The opening as people see it. Default: as it is. */
  shown?: string
  /** What woke the session, kept with the opening for people. */
  cause?: SessionCause
  /** What the last words of this turn shall tell besides. */
  news?: News
  /** Aborts when the lease is lost or the run is called off. */
  signal: AbortSignal
  /** Which of the two it was. */
  interruption(reason: unknown): 'lease-lost' | 'cancelled'
}

export interface TurnResult {
  ok: boolean
  stopReason: StopReason
  finalMessage?: string
  error?: { code: string; message: string }
  /** `cost` is a decimal in the policy's currency, where the model has a price. */
  usage: { inputTokens: number; outputTokens: number; calls: number; cost?: string }
  iterations: number
  toolCalls: number
  calls: { tool: string; outcome: ToolOutcome['outcome'] }[]
  /** Set when the turn ends with `asked`. */
  question?: PendingQuestion
}

/** How the loop goes on after a step: not at all, when it names an end. */
export type Step = { end: Pick<TurnResult, 'stopReason' | 'finalMessage' | 'error' | 'question'> }

/** What one turn has used and knows so far. */
export interface TurnState {
  world: TurnWorld
  input: TurnInput
  startedAt: number
  history: HistoryEntry[]
  usage: TurnResult['usage']
  iterations: number
  calls: TurnResult['calls']
}

/** What is kept with an item. */
export type About = Omit<HistoryEntry, 'messageId' | 'item' | 'at' | 'isAside'>

/** Appends items of this turn, all or none; `about` is kept with the last of them. */
export async function keep(state: TurnState, items: ChatItem[], about: About = {}): Promise<void> {
  const { world, input } = state
  const at = world.clock.date()
  const { messageId } = input
  const entries = items.map((item, n) => ({
    ...{ messageId, item, at },
    ...(n === items.length - 1 ? about : {}),
  }))
  await world.store.append(input.key, entries)
  state.history = [...state.history, ...entries]
}

/** An end that is not `ok`. */
export function failedWith(stopReason: StopReason, code: string, message: string): Step['end'] {
  return { stopReason, error: { code, message } }
}
