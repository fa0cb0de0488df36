/** Backtests: a condition tried on past events, after its estimate was confirmed. */
import type { RunUsage, SubscriptionInput, TestResult } from './api-subscription.ts'
import { segment, type Transport } from './transport.ts'

export interface Backtest {
  id: string
  state: 'estimated' | 'running' | 'done' | 'failed' | 'cancelled'
  hours: number
  subscription: string
  /** What judging costs at most; nothing is spent before `confirm`. */
  estimate: {
    /** Events looked at, and those that matched the declarative condition. */
    events: number
    matched: number
    /** More matched than one backtest takes; the newest are tried. */
    isCut: boolean
    calls: number
    inputTokens: number
    outputTokens: number
    totalTokens: number
    cost: string
  }
  progress: { done: number; total: number }
  /** How often it would have woken the agent. */
  fired: number
  items: (TestResult['items'][number] & { at: string | null })[]
  /** What judging took so far. */
  usage?: RunUsage
  /** Why it failed. */
  reason?: string
}

export interface Backtests {
  /**
   * Counts and estimates; exactly one of a saved subscription's id and a draft. It is sent once:
   * each makes a backtest of its own.
   */
  create(asked: {
    subscription?: string
    draft?: SubscriptionInput
    hours: number
  }): Promise<Backtest>
  confirm(id: string): Promise<Backtest>
  get(id: string): Promise<Backtest>
  cancel(id: string): Promise<Backtest>
}

/** Binds the routes to a transport. */
export function backtestCalls(transport: Transport): Backtests {
  const at = (id: string, verb = '') => `/v1/backtests/${segment(id)}${verb}`
  return {
    create: body => transport.json({ method: 'POST', path: '/v1/backtests', body, attemptsMax: 1 }),
    confirm: id => transport.json({ method: 'POST', path: at(id, '/confirm'), body: {} }),
    get: id => transport.json({ method: 'GET', path: at(id) }),
    cancel: id => transport.json({ method: 'DELETE', path: at(id) }),
  }
}
