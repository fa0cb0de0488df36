/**
 * The policy enforcement point: every tool of every iteration passes here and nowhere else. What
 * is refused becomes a result that the model can read; what ends the run says so in `end`.
 */
import { isAmbitError } from '#kernel/errors.ts'
import type { ToolCall } from '#kernel/ports/chat-model.ts'
import { LeaseLost } from '../loop/lease-lost.ts'
import { argumentDigest } from './argument-digest.ts'
import { readArguments } from './read-arguments.ts'
import {
  type AcceptedItem,
  type Language,
  type Tool,
  type ToolOutput,
  ToolRefusal,
} from './tool.ts'
import type { ToolRegistry } from './tool-registry.ts'
import { untrustedText } from './untrusted-text.ts'

/** An effect as `authorize` of the mailbox takes it. */
export interface ToolEffect {
  tool: string
  class: 'read' | 'write' | 'sensitive'
  egress: boolean
  target: string
}

/** A person's answer that opened this run. */
export interface Approval {
  tool: string
  target?: string
  decision: 'accept' | 'edit' | 'respond' | 'ignore'
  /** Arguments that the person put in their place, with `edit`. */
  args?: unknown
}

/** What the run knows about itself; `exposure` grows as tools are read. */
export interface DispatchRun {
  messageId: string
  tenant: string
  session: string
  language: Language
  signal: AbortSignal
  approval?: Approval
  exposure: { hasUntrusted: boolean; hasPrivate: boolean }
  /** Opens operations of a tool; see `ToolContext`. */
  accept(tool: string, items: AcceptedItem[]): Promise<void>
}

export interface DispatchWorld {
  registry: ToolRegistry
  /** May this agent, woken by this subscription, use the tool at all? */
  isAllowed(tool: Tool): boolean
  /** The tenant forbids sensitive tools in this run, whoever would approve. */
  isSensitiveForbidden: boolean
  /** The mailbox's revalidation of an effect, right before it. */
  authorize(effect: ToolEffect): Promise<{ allowed: boolean; reason: string }>
  clock: { sleep(ms: number, signal?: AbortSignal): Promise<void> }
}

export type CallOutcome = 'ok' | 'accepted' | 'refused' | 'failed' | 'timed-out' | 'asked'

export interface PendingQuestion {
  question: string
  effect: { tool: string; target: string }
}

export interface ToolOutcome {
  tool: string
  outcome: CallOutcome
  /** The result as the model reads it. */
  text: string
  /** Answers the person at once; set when work was accepted for later. */
  reply?: string
  /** The turn ends after this batch. */
  end?:
    | { stopReason: 'asked'; question: PendingQuestion }
    | { stopReason: 'policy-denied' | 'budget-exhausted'; reason: string }
}

const TIMEOUT_MS = 30_000
const OUTPUT_MAX = 20_000
const ERROR_MAX = 500

/** The key under which a call runs, and runs again: world and history then agree. */
export function idempotencyKeyOf(messageId: string, tool: string, args: unknown): string {
  return `${messageId}/${tool}/${argumentDigest(args)}`
}

/**
 * Runs one call if everything allows it. Rejects only when the run is interrupted, or its state
 * cannot be kept.
 */
export async function dispatchTool(
  world: DispatchWorld,
  run: DispatchRun,
  call: ToolCall,
): Promise<ToolOutcome> {
  const tool = world.registry.find(call.name)
  if (!tool) return refusal(call.name, `there is no tool ${call.name.slice(0, 64)}`)
  if (!world.isAllowed(tool)) return refusal(tool.name, `${tool.name} is not allowed in this run`)
  const read = readArguments(tool, call.arguments, run.language)
  if ('refused' in read) return refusal(tool.name, read.refused)
  const { args } = read
  const stopped = tool.effect === 'read' ? undefined : await revalidate(world, run, tool, args)
  return stopped ?? perform(world, run, { tool, args, callId: call.id })
}

function refusal(tool: string, why: string): ToolOutcome {
  return { tool, outcome: 'refused', text: `refused: ${why}` }
}

/** Why the effect may not happen now, or undefined when it may. */
async function revalidate(
  world: DispatchWorld,
  run: DispatchRun,
  tool: Tool,
  args: Record<string, unknown>,
): Promise<ToolOutcome | undefined> {
  const asked = approvalOf(run, tool, args)
  if (asked.isDeclined) return refusal(tool.name, 'a person declined this very call')
  const needsYes = tool.effect === 'sensitive' || isWayOut(run, tool)
  if (tool.effect === 'sensitive' && world.isSensitiveForbidden) {
    return refusal(tool.name, `${tool.name} is forbidden in a run that an event woke`)
  }
  if (needsYes && !asked.isGiven) return question(tool, asked.target, args)
  const effect = { tool: tool.name, class: tool.effect, egress: tool.egress ?? false }
  const { allowed, reason } = await world.authorize({ ...effect, target: asked.target })
  if (allowed) return undefined
  if (reason === 'approval-needed' && !asked.isGiven) return question(tool, asked.target, args)
  const stopReason = stopReasonOf(reason)
  return { ...refusal(tool.name, reason), ...(stopReason && { end: { stopReason, reason } }) }
}

/** Data may not be carried out by a run that holds some and has read what strangers wrote. */
function isWayOut({ exposure }: DispatchRun, tool: Tool): boolean {
  return tool.egress === true && exposure.hasUntrusted && exposure.hasPrivate
}

/** What a person said about this very call. Edited arguments keep the target that was shown. */
function approvalOf({ approval }: DispatchRun, tool: Tool, args: Record<string, unknown>) {
  const target = (tool.target?.(args) ?? argumentDigest(args)).slice(0, 1024)
  const none = { target, isGiven: false, isDeclined: false }
  if (approval?.tool !== tool.name) return none
  const isEdited =
    approval.decision === 'edit' &&
    approval.args !== undefined &&
    argumentDigest(approval.args) === argumentDigest(args)
  const isSame = approval.target === undefined || approval.target === target
  if (!isSame && !isEdited) return none
  const isGiven = isEdited || approval.decision === 'accept'
  return { target: approval.target ?? target, isGiven, isDeclined: !isGiven }
}

function question(tool: Tool, target: string, args: Record<string, unknown>): ToolOutcome {
  const shown = JSON.stringify(args).slice(0, 1000)
  return {
    tool: tool.name,
    outcome: 'asked',
    text: `waiting: a person was asked whether ${tool.name} may run`,
    end: {
      stopReason: 'asked',
      question: {
        question: `May ${tool.name} run with ${shown}?`,
        effect: { tool: tool.name, target },
      },
    },
  }
}

/** Refusals of the mailbox that no other call of this run can get round. */
export function stopReasonOf(reason: string): 'policy-denied' | 'budget-exhausted' | undefined {
  if (reason.startsWith('over-budget')) return 'budget-exhausted'
  const isFinal = /^(agent-stopped|not-entitled|policy-too-old|subscription-.+)$/.test(reason)
  return isFinal ? 'policy-denied' : undefined
}

interface Performance {
  tool: Tool
  args: Record<string, unknown>
  callId: string
}

async function perform(
  world: DispatchWorld,
  run: DispatchRun,
  { tool, args, callId }: Performance,
): Promise<ToolOutcome> {
  const done = new AbortController()
  const late = new AbortController()
  const timeoutMs = tool.timeoutMs ?? TIMEOUT_MS
  world.clock.sleep(timeoutMs, done.signal).then(
    () => late.abort(),
    () => {},
  )
  const signal = AbortSignal.any([run.signal, late.signal])
  const { messageId, tenant, session, language } = run
  const idempotencyKey = idempotencyKeyOf(messageId, tool.name, args)
  const accept = (items: AcceptedItem[]) => run.accept(tool.name, items)
  const context = { idempotencyKey, callId, messageId, tenant, session, language, signal, accept }
  try {
    const output = await Promise.race([tool.run(args, context), aborted(signal)])
    return finished(run, tool, output)
  } catch (error) {
    if (run.signal.aborted) throw run.signal.reason
    if (error instanceof LeaseLost || isPassing(error)) throw error
    if (error instanceof ToolRefusal) return refusal(tool.name, error.message)
    if (late.signal.aborted) return timedOut(tool, timeoutMs)
    const words = error instanceof Error ? error.message : String(error)
    const text = `failed: ${untrustedText(`tool:${tool.name}`, words.slice(0, ERROR_MAX))}`
    run.exposure.hasUntrusted = true
    return { tool: tool.name, outcome: 'failed', text }
  } finally {
    done.abort()
  }
}

/** Our own log or store is away: the message is tried again, and this call under the same key. */
function isPassing(error: unknown): boolean {
  return isAmbitError(error) && error.retry !== 'never'
}

function timedOut(tool: Tool, timeoutMs: number): ToolOutcome {
  const known = tool.effect === 'read' ? '' : '; whether it took effect is not known'
  const text = `failed: no result within ${timeoutMs} ms${known}`
  return { tool: tool.name, outcome: 'timed-out', text }
}

function finished({ exposure }: DispatchRun, tool: Tool, output: ToolOutput): ToolOutcome {
  if (typeof output !== 'string') {
    return {
      tool: tool.name,
      outcome: 'accepted',
      text: `accepted: ${output.accepted}`,
      reply: output.reply,
    }
  }
  const max = tool.outputMax ?? OUTPUT_MAX
  const isCut = output.length > max
  const bounded = isCut ? `${output.slice(0, max)}\n[cut after ${max} characters]` : output
  if (tool.isPrivate) exposure.hasPrivate = true
  if (tool.isTrusted) return { tool: tool.name, outcome: 'ok', text: bounded }
  exposure.hasUntrusted = true
  return { tool: tool.name, outcome: 'ok', text: untrustedText(`tool:${tool.name}`, bounded) }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
