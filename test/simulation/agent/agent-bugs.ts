/** Faults of our own making in the agent and in its mailbox: the checks must find each of them. */
import type { HistoryEntry } from '#services/agent/loop/session-store.ts'
import type { AgentWorld } from '#services/agent/run-agent.ts'
import type { SessionDocument } from '#services/agent/storage/log-session-store.ts'
import type { Place, SessionTable } from '#services/agent/storage/session-table.ts'
import type { Tool } from '#services/agent/tools/tool.ts'
import { BUGS } from '../bugs/all-bugs.ts'
import type { AgentBug } from './agent-sim.ts'

/** Faults of the mailbox that this world must find as well. */
const SERVICE_BUGS = BUGS.filter(({ name }) =>
  ['expired-lease-settles', 'tokens-start-again', 'mailbox-race'].includes(name),
)

export const AGENT_BUGS: readonly AgentBug[] = [
  {
    name: 'history-before-results',
    meaning: 'an assistant message with tool calls is saved before their results',
    wrapAgent: world => ({
      ...world,
      table: withUpdate(world.table, async (update, place, change) => {
        if (place.kind !== 'session') return update(place, change)
        const grow = change as unknown as (now?: SessionDocument) => SessionDocument
        await update(place, now => {
          const next = grow(now as SessionDocument | undefined)
          const at = next.entries.findLastIndex(hasCalls)
          const isNew = at >= ((now as SessionDocument | undefined)?.entries.length ?? 0)
          return isNew ? ({ ...next, entries: next.entries.slice(0, at + 1) } as never) : undefined
        })
        return update(place, now => {
          const held = now as SessionDocument | undefined
          const isHalf = held?.entries.at(-1) && hasCalls(held.entries.at(-1)!)
          return grow(isHalf ? { ...held!, entries: held!.entries.slice(0, -1) } : held) as never
        })
      }),
    }),
  },
  {
    name: 'intent-not-written',
    meaning: 'a write tool runs before its intent is durable',
    wrapAgent: world => ({
      ...world,
      table: withUpdate(world.table, async (update, place, change) =>
        place.kind === 'intent' ? undefined : update(place, change),
      ),
    }),
  },
  {
    name: 'random-key',
    meaning: 'each attempt at a request has an idempotency key of its own',
    wrapAgent: (world, { random }) => ({
      ...world,
      http: (request, signal) => {
        const key = `${request.headers['idempotency-key']}/${random.hex().slice(0, 6)}`
        return world.http({ ...request, headers: { 'idempotency-key': key } }, signal)
      },
    }),
  },
  {
    name: 'told-unnoted',
    meaning: 'a closing is said without taking the results in the same append',
    wrapAgent: world => ({
      ...world,
      table: withEntries(world.table, ({ tells: _tells, ...entry }) => entry),
    }),
  },
  {
    name: 'marked-before-told',
    meaning: 'results count as told when they end, and nobody says them',
    wrapAgent: world => ({
      ...world,
      operations: {
        ...world.operations,
        change: (operation, next) =>
          world.operations.change(operation, now => {
            const changed = next(now)
            return changed?.delivery === 'queued' && changed.outcome?.ok
              ? { ...changed, delivery: 'proactive' }
              : changed
          }),
      },
    }),
  },
  {
    name: 'history-unfenced',
    meaning: 'who wakes after the lease still writes the history',
    wrapAgent: world => ({
      ...world,
      table: withUpdate(world.table, (update, place, change) =>
        update(place, now => {
          const isHistory = place.kind === 'session' && now !== undefined
          return change(isHistory ? ({ ...(now as object), token: 0 } as never) : now)
        }),
      ),
    }),
  },
  {
    name: 'permit-assumed',
    meaning: 'the mailbox is not asked before an effect',
    wrapAgent: world => ({
      ...world,
      client: {
        ...world.client,
        work: (mailbox, handler, options) =>
          world.client.work(
            mailbox,
            (message, context) =>
              handler(message, {
                ...context,
                authorize: async () => ({ allowed: true, reason: 'allowed' }),
              }),
            options,
          ),
      },
    }),
  },
  {
    name: 'yes-assumed',
    meaning: 'a sensitive tool runs as if it only wrote',
    wrapAgent: world => withTool(world, 'pay', tool => ({ ...tool, effect: 'write' })),
  },
  {
    name: 'not-taken-up',
    meaning: 'a new owner leaves unfinished operations alone',
    wrapAgent: world => ({ ...world, operations: { ...world.operations, everything: () => [] } }),
  },
  {
    name: 'cut-off-executed',
    meaning: 'an answer that was cut off is taken as whole',
    wrapAgent: world => ({
      ...world,
      model: {
        ...world.model,
        complete: async (request, signal) => ({
          ...(await world.model.complete(request, signal)),
          isComplete: true,
        }),
      },
    }),
  },
  {
    name: 'closing-unasked',
    meaning: 'a closing whose asking failed is not asked for again',
    wrapAgent: world => {
      const { mailboxes } = world.client
      const continueSession: typeof mailboxes.continueSession = (...call) =>
        mailboxes.continueSession(...call).catch(() => ({ id: 'lost' }))
      return { ...world, client: { ...world.client, mailboxes: { ...mailboxes, continueSession } } }
    },
  },
  ...SERVICE_BUGS,
]

const hasCalls = ({ item }: HistoryEntry) => item.role === 'assistant' && item.toolCalls.length > 0

type Update = SessionTable['update']

function withUpdate(
  table: SessionTable,
  wrapped: <T>(
    update: Update,
    place: Place,
    change: (now: T | undefined) => T | undefined,
  ) => Promise<T | undefined>,
): SessionTable {
  return { ...table, update: (place, change) => wrapped(table.update, place, change) }
}

function withEntries(
  table: SessionTable,
  change: (entry: HistoryEntry) => HistoryEntry,
): SessionTable {
  return withUpdate(table, (update, place, grow) =>
    update(place, now => {
      const next = grow(now)
      if (place.kind !== 'session' || next === undefined) return next
      const document = next as unknown as SessionDocument
      return { ...document, entries: document.entries.map(change) } as never
    }),
  )
}

function withTool(world: AgentWorld, name: string, change: (tool: Tool) => Tool): AgentWorld {
  const { registry } = world
  const find = (wanted: string) => {
    const tool = registry.find(wanted)
    return tool?.name === name ? change(tool) : tool
  }
  return { ...world, registry: { ...registry, find } }
}
