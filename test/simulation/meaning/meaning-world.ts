/**
 * The world in which meaning is judged: matching, judge, guard and poller on the simulated log and
 * store, with a scripted model and scripted MCP servers outside.
 */
import type { JudgeSettings } from '#services/evaluator/judge/judge-settings.ts'
import { createFacts, type Facts } from '../facts.ts'
import type { Fault } from '../faults.ts'
import { createProducer, type Producer } from '../producers.ts'
import { createRandom, type Random } from '../random.ts'
import type { Outside } from '../services.ts'
import type { SimProcess } from '../sim-process.ts'
import { type Act, type Bug, createWorld, TENANTS, type World, type WorldPlan } from '../world.ts'
import { createScriptedServers, type ScriptedServers } from './scripted-mcp.ts'
import { createScriptedModels, type ScriptedModels } from './scripted-model.ts'
import { createTextBook } from './text-book.ts'
import { createMoneyWatch, type MoneyWatch } from './watch-money.ts'

/** A fault of our own making in what judges or polls. */
export interface MeaningBug extends Bug {
  /** Gives a process a model, a server or a pen that misbehaves. */
  outside?(outside: Required<Pick<Outside, 'judge' | 'mcp'>>, at: BugPlace): Outside
}

export interface BugPlace {
  process: SimProcess
  world: World
}

export interface MeaningWorld {
  world: World
  facts: Facts
  producer: Producer
  models: ScriptedModels
  servers: ScriptedServers
  money: MoneyWatch
  settings: JudgeSettings
}

/**
 * Faults of this world. Left out are those of clocks and of the control plane (F15, F30), of
 * producers (F3, F21, F22, F26, F29), and of what agents alone meet (F17, lost answers, drains).
 */
export const MEANING_FAULTS: readonly Fault[] = [
  ...(['F1', 'F2', 'F4', 'F5', 'F6', 'F7', 'F8', 'F9', 'F10', 'F11', 'F12', 'F13', 'F14'] as const),
  ...(['F16', 'F18', 'F19', 'F20', 'F23', 'F24', 'F25', 'F27', 'F28'] as const),
]

export function createMeaningWorld(options: {
  seed: number
  isFaultless: boolean
  bug: MeaningBug | undefined
}): MeaningWorld {
  const { seed, isFaultless, bug } = options
  const random = createRandom(seed).fork('meaning')
  const money = createMoneyWatch()
  const texts = createTextBook()
  const claim = (process: string, text: string) => {
    const open = money.held.filter(each => each.process === process && !each.isUsed)
    const found = open.find(({ id }) => texts.textOf(world, candidateOf(id)) === text)
    if (found) found.isUsed = true
    return found
  }
  const models = createScriptedModels(random.fork('model'), claim)
  const servers = createScriptedServers(random.fork('servers'), TENANTS)
  const settings = settingsOf(random.fork('settings'))
  const plan: WorldPlan = {
    roles: ['control', 'ingest', 'evaluator', 'judge', 'guard', 'poller'],
    groups: ['registry', 'match', 'judge', 'guard', 'mcp-poller'],
    faults: MEANING_FAULTS,
    acts: { F18: breakModel(models), F19: breakServer(servers), F28: appendLate },
    watch: money.watch,
    outsideOf(process, inside) {
      const model = models.open(process, inside)
      const outside = { judge: { ...settings, model }, mcp: servers.open(process, inside) }
      return bug?.outside?.(outside, { process, world: inside }) ?? outside
    },
  }
  const world = createWorld({ seed, isFaultless, bug, plan })
  const facts = createFacts()
  const producer = createProducer(world, facts, random.fork('producer'))
  return { world, facts, producer, models, servers, money, settings }
}

/** A reservation is named after its first candidate and that one's attempt. */
export const candidateOf = (reservation: string) =>
  reservation.slice(0, reservation.lastIndexOf('/'))

function settingsOf(random: Random): JudgeSettings {
  const names = random.chance(0.5) ? ['large'] : ['large', 'small']
  return {
    ...{ model: undefined, names, timeoutMs: 2000, attemptsMax: random.between(2, 3) },
    ...{ inFlightMax: random.between(2, 6), batchMax: random.between(1, 5) },
    ...{ batchWaitMs: random.pick([0, 100]), outputTokens: 300, suspendAfter: 10 },
    breaker: { failuresMax: 5, openMs: 8000 },
    prices: names.map(model => ({ model, input: '1', output: '4' })),
  }
}

/** A model is out of order for a while. */
function breakModel({ outages }: ScriptedModels): Act {
  return ({ clock }, random) => {
    const name = random.pick(['large', 'large', 'small'])
    outages.set(name, clock.now() + random.pick([3000, 10_000, 25_000]))
  }
}

/** A server restarts, stays away, forgets its cursors, or changes its tool. */
function breakServer({ servers, reached }: ScriptedServers): Act {
  return ({ clock, history }, random) => {
    const server = random.pick(servers)
    const what = random.pick(['restart', 'away', 'away', 'cursor-gone', 'tool-changed'])
    history.incident(`${server.name}: ${what}`)
    reached.add(what)
    if (what === 'restart') server.downUntil = clock.now() + random.between(200, 2500)
    if (what === 'away') server.downUntil = clock.now() + random.between(12_000, 25_000)
    if (what === 'cursor-gone') server.epoch += 1
    if (what === 'tool-changed') server.revision += 1
  }
}

/** The late packet of a poller that lost its partition: an older position comes last. */
const appendLate: Act = ({ history, log, codec }, random) => {
  const written = history.values('cursors', 'table-document')
  const older = written.filter(({ value, order }) =>
    written.some(each => each.value.id === value.id && each.order > order),
  )
  if (older.length === 0) return
  const { value } = random.pick(older)
  const key = `${value.tenant}/${value.kind}/${value.id}`
  log.prepareAppend([{ topic: 'cursors', key, value: codec.encode('table-document', value) }])()
}
