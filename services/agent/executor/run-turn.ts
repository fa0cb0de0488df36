/** The loop, wired for the message in hand: its tools, its rules, its lease. */
import { hashId } from '#kernel/domain/ids.ts'
import { costMicros, moneyText } from '#kernel/domain/model-price.ts'
import type { Message } from '#services/client/api.ts'
import { runAgentTurn } from '../loop/run-agent-turn.ts'
import type { News, TurnResult } from '../loop/turn-state.ts'
import type { Operation } from '../operations/operation.ts'
import { type DispatchRun, dispatchTool } from '../tools/dispatch-tool.ts'
import type { AcceptedItem } from '../tools/tool.ts'
import { withTools } from '../tools/tool-registry.ts'
import type { AgentMessage } from './agent-message.ts'
import { authorizeUnder } from './authorize-under.ts'
import { instructionsFor } from './instructions.ts'
import type { Work } from './work.ts'

/** One turn of the loop for the message in hand. */
export async function runTurn(
  work: Work,
  begin: { opening?: string; news?: News; language?: AgentMessage['language'] },
): Promise<TurnResult> {
  const { world, message, context, key, sessions, asked } = work
  const language = begin.language ?? asked.language
  const isWoken = asked.kind === 'activation'
  const isAllowed = (tool: { name: string }) => world.rules.isAllowed(tool.name, isWoken)
  const authorize = authorizeUnder(context)
  const registry = withTools(world.registry, await world.connectorTools(message))
  const run: DispatchRun = {
    ...{ messageId: message.id, ...key, language, signal: context.signal },
    ...(asked.approval ? { approval: asked.approval } : {}),
    exposure: await exposureOf(work),
    accept: (tool, items) => accept(work, { tool, items, language }),
  }
  const dispatchWorld = {
    ...{ registry, isAllowed, authorize, clock: world.clock },
    isSensitiveForbidden: isWoken && world.rules.isSensitiveForbiddenWhenWoken,
  }
  const result = await runAgentTurn(
    {
      ...{ model: world.model, store: sessions, clock: world.clock, limits: world.limits },
      tools: registry.describe(isAllowed),
      dispatch: call => dispatchTool(dispatchWorld, run, call),
      isRead: name => (registry.find(name)?.effect ?? 'read') === 'read',
      mayGoOn: () => authorize({ tool: 'model', class: 'read', egress: false, target: 'model' }),
      record: entry => world.record(message.id, entry),
      onDraft: world.onDraft && (text => world.onDraft?.(key, message.id, text)),
    },
    {
      ...{ messageId: message.id, key, signal: context.signal },
      ...{ opening: begin.opening, shown: asked.shown, news: begin.news },
      ...(isWoken ? { cause: causeOf(message) } : {}),
      instructions: instructionsFor({ ...message, agent: world.agent, language }),
      interruption: () => (context.isLost() ? 'lease-lost' : 'cancelled'),
    },
  )
  return { ...result, usage: { ...result.usage, ...costOf(world, result) } }
}

/** A model without a price reports none: 0 would claim that it is free. */
function costOf({ prices, model }: Work['world'], { usage }: TurnResult): { cost?: string } {
  if (!prices.some(each => each.model === model.name)) return {}
  return { cost: moneyText(costMicros(prices, model.name, usage)) }
}

/** What woke a session, for people: links to the traces of its events. */
function causeOf({ subscription, events }: Message) {
  return {
    subscription,
    events: events.slice(0, 20).map(({ source, id, type }) => ({ source, id, type })),
  }
}

/** What the session has read before counts too. */
async function exposureOf({
  sessions,
  key,
  message,
  asked,
}: Work): Promise<DispatchRun['exposure']> {
  const history = await sessions.history(key)
  const hasRead = history.some(({ item }) => item.text.includes('<untrusted '))
  return { hasUntrusted: asked.hasUntrusted || hasRead, hasPrivate: message.onBehalfOf !== null }
}

async function accept(
  { world, message, context, key }: Work,
  { tool, items, language }: { tool: string; items: AcceptedItem[]; language: 'en' | 'es' },
): Promise<void> {
  const now = world.clock.date()
  const { handle } = context.lease()
  const operations = items.map(
    (item, position): Operation => ({
      ...{ ...item, position },
      id: hashId('op', key.tenant, item.idempotencyKey),
      ...{ ...key, agent: world.agent, batch: message.id, tool, language, handle },
      ...{ state: 'accepted', attempts: 0, outcome: null, delivery: null, deliveredBy: null },
      ...{ acceptedAt: now, updatedAt: now },
    }),
  )
  await world.operations.accept(operations)
}
