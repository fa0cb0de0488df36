/**
 * MCP servers of the simulated world: one lists everything it has, one gives pages after a cursor.
 * They fail, forget and change as the seed says (F19), and keep what they were asked.
 */
import { type McpCall, type McpClient, McpFailure } from '#kernel/ports/mcp-client.ts'
import { tool } from '#test/support/poller-world.ts'
import type { Random } from '../random.ts'
import type { SimProcess } from '../sim-process.ts'
import type { World } from '../world.ts'

export interface ServerItem {
  id: string
  text: string
  /** True ms of its last change. */
  at: number
}

/** A call of an operation, with the hashes that the process was shown just before. */
export interface McpAsked {
  process: string
  operation: string
  at: number
  order: number
  shown: string[]
}

export interface SimServer {
  name: string
  operation: string
  items: ServerItem[]
  asked: McpAsked[]
  /** Grows when the tool is described anew. */
  revision: number
  /** Cursors of older epochs are gone. */
  epoch: number
  downUntil: number
}

export interface ScriptedServers {
  servers: SimServer[]
  reached: Set<string>
  open(process: SimProcess, world: World): McpClient
}

const PAGE_ITEMS = 3
/** Above what connectors allow. */
const TOO_MANY = 130
/** How far back a list of tools counts as looked at: a process may have stood still since, ms. */
const SHOWN_MS = 20_000

interface Asking {
  server: SimServer
  call: McpCall
  world: World
  random: Random
}

/** Every way in which a call of a server goes wrong. */
export const MCP_MODES: Record<string, (asking: Asking) => unknown> = {
  error: () => refuse('operation-failed'),
  refused: () => refuse('refused'),
  unreachable: () => refuse('unreachable'),
  unauthorised: () => refuse('unauthorised'),
  throttled: ({ random }) => refuse('throttled', random.pick([500, 2500])),
  'too-large': () => refuse('too-large'),
  'bad-answer': () => refuse('bad-answer'),
  timeout: async ({ world, call }) => {
    await world.clock.sleep(call.timeoutMs)
    refuse('timeout')
  },
  'over-bounds': ({ server }) => {
    const more = Array.from({ length: TOO_MANY }, (_, n) => ({ id: `flood-${n}`, text: 'flood' }))
    return { items: more, next: `${server.epoch}:${TOO_MANY}` }
  },
  'no-list': () => ({ items: 7 }),
  'no-identity': () => ({ items: [{ text: 'nobody' }] }),
  'same-page': asking => answer(asking, { back: PAGE_ITEMS }),
  'other-cursor': asking => answer(asking, { mark: asking.random.hex().slice(0, 4) }),
  slow: async asking => {
    await asking.world.clock.sleep(asking.call.timeoutMs - 100)
    return answer(asking)
  },
}

function refuse(word: McpFailure['word'], retryAfterMs?: number): never {
  throw new McpFailure(word, retryAfterMs)
}

/** Everything, or the page after the cursor; `back` repeats what was shown before. */
function answer(
  { server, call }: Asking,
  { back = 0, mark = '' }: { back?: number; mark?: string } = {},
): unknown {
  const items = server.items.map(({ id, text }) => ({ id, text }))
  if (server.operation === 'list') return { items }
  const { after = `${server.epoch}:0` } = call.arguments
  const [epoch, at = 0] = String(after).split(':').map(Number)
  if (epoch !== server.epoch) refuse('operation-failed')
  const from = Math.max(0, at - back)
  const page = items.slice(from, from + PAGE_ITEMS)
  const tail = mark === '' ? '' : `:${mark}`
  return { items: page, next: `${epoch}:${from + page.length}${tail}` }
}

const offerOf = ({ operation, revision }: SimServer) =>
  tool(operation, `Lists what there is (${revision}).`)

/** How often a call meets a fault of its own, before the seed's intensity. */
const FAULT_RATE = 0.08

/** One server of each kind in each tenant. */
export function createScriptedServers(random: Random, tenants: readonly string[]): ScriptedServers {
  const blank = { revision: 1, epoch: 1, downUntil: 0 }
  const servers = tenants.flatMap((tenant): SimServer[] => [
    { ...blank, name: `${tenant}-tickets`, operation: 'list', items: [], asked: [] },
    { ...blank, name: `${tenant}-mail`, operation: 'page', items: [], asked: [] },
  ])
  const reached = new Set<string>()
  const open = (process: SimProcess, world: World): McpClient => {
    const wait = async (ms: number) => {
      await world.clock.sleep(ms)
      await process.awake()
    }
    const modeOf = ({ faults, intensity }: World) =>
      faults.strikes('F19', FAULT_RATE * Math.min(intensity, 2))
        ? random.pick(Object.keys(MCP_MODES))
        : undefined
    const shown: { server: SimServer; at: number; hash: string }[] = []
    const alive = (server: SimServer) => {
      if (world.clock.now() < server.downUntil && world.faults.isActive()) refuse('unreachable')
    }
    return {
      async connect(target) {
        await wait(random.between(1, 20))
        const url = target.transport === 'http' ? target.url : ''
        const server = servers.find(({ name }) => url === urlOf(name)) ?? refuse('unreachable')
        alive(server)
        return {
          async list() {
            await wait(random.between(1, 20))
            alive(server)
            const offer = offerOf(server)
            shown.push({ server, at: world.clock.now(), hash: offer.hash })
            return [offer]
          },
          async call(call) {
            await wait(random.between(1, 40))
            const now = world.clock.now()
            const recent = shown.filter(each => each.server === server && each.at > now - SHOWN_MS)
            server.asked.push({
              ...{ process: process.name, operation: call.operation, at: now },
              ...{ order: world.history.order(), shown: recent.map(({ hash }) => hash) },
            })
            alive(server)
            const mode = modeOf(world)
            if (mode) reached.add(mode)
            if (mode) world.history.incident(`${server.name} answers ${process.name} (${mode})`)
            const asking = { server, call, world, random }
            const found = await (mode ? MCP_MODES[mode]?.(asking) : answer(asking))
            await process.awake()
            return found
          },
          pollEvents: async () => refuse('refused'),
          close: async () => {},
        }
      },
    }
  }
  return { servers, reached, open }
}

export const urlOf = (name: string) => `https://${name}.test/`
