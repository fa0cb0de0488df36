/** What became of the items of MCP servers: none lost, none doubled, none read unallowed. */
import type { CloudEvent } from '#kernel/domain/event.ts'
import { observationIdOf } from '#kernel/domain/observation.ts'
import type { ObservationState } from '#kernel/domain/observation-state.ts'
import type { Subscription } from '#kernel/domain/subscription.ts'
import { shortHash } from '#services/mcp-poller/rules/read-items.ts'
import { type Violation, violation } from '../violation.ts'
import type { MeaningTimeline } from './meaning-timeline.ts'
import { type MeaningRun, newestOf } from './play-meaning.ts'
import type { McpAsked, SimServer } from './scripted-mcp.ts'

/** One observation with all that is known of it. */
interface Observed {
  id: string
  server: SimServer
  everyMs: number
  isChanged: boolean
  positions: { order: number; at: number; state: ObservationState }[]
  /** Identity, digest and place of each event, repeats included. */
  events: { order: number; event: CloudEvent; identity: string }[]
}

export function checkPolls(run: MeaningRun, timeline: MeaningTimeline): Violation[] {
  const observed = observationsOf(run, timeline)
  return [
    ...observed.flatMap(checkPositions),
    ...observed.flatMap(checkItems),
    ...observed.flatMap(checkDoubles),
    ...observed.flatMap(each => checkFailures(run, each)),
    ...checkScopes(timeline),
    ...checkBeat(run, observed),
    ...run.servers.servers.flatMap(server => checkTools(run, server)),
  ]
}

function observationsOf(run: MeaningRun, timeline: MeaningTimeline): Observed[] {
  const { history } = run.world
  const positions = history.values('cursors', 'table-document').map(({ order, at, value }) => {
    return { order, at, tenant: value.tenant, state: value.doc as ObservationState }
  })
  const made = new Map<string, Observed>()
  for (const versions of timeline.subscriptions.values()) {
    const doc = versions.at(-1)?.doc
    if (!doc?.observe) continue
    const { tenant, observe } = doc
    const id = observationIdOf({ ...doc, observe })
    const server = run.servers.servers.find(({ name }) => name === `${tenant}-${observe.connector}`)
    if (!server) continue
    const known = made.get(id)
    const everyMs = Math.min(observe.everyMs, known?.everyMs ?? Number.POSITIVE_INFINITY)
    made.set(id, {
      ...{ id, server, everyMs },
      isChanged: observe.watch === 'changed',
      positions: positions.filter(each => each.state.id === id && each.tenant === tenant),
      events: timeline.ingress
        .filter(({ event }) => event.subject === id)
        .map(({ order, event }) => ({ order, event, identity: identityOf(event) })),
    })
  }
  return [...made.values()]
}

const identityOf = ({ data }: CloudEvent) => String((data as { id?: unknown } | undefined)?.id)

/** What was there when the position was found first; the rest is news. */
function baselineOf({ positions, server }: Observed): Set<string> {
  const first = positions.find(({ state }) => state.isPositioned)
  const known = server.items.filter(({ id }) =>
    first?.state.seen.some(s => s.startsWith(shortHash(id))),
  )
  return new Set(known.map(({ id }) => id))
}

/** A position never passes an item whose event is not durable. */
function checkPositions(observed: Observed): Violation[] {
  const baseline = baselineOf(observed)
  const { server, positions, events, id } = observed
  const first = new Map(events.toReversed().map(each => [each.identity, each.order]))
  for (const { order, state } of positions) {
    const seen = new Set(state.seen.map(entry => entry.split(':')[0]))
    const lost = server.items.find(
      item =>
        !baseline.has(item.id) &&
        seen.has(shortHash(item.id)) &&
        (first.get(item.id) ?? Number.POSITIVE_INFINITY) > order,
    )
    if (lost)
      return [violation('I1', `the position of ${id} passed ${lost.id} before its event`, id)]
  }
  return []
}

/** Every item that came after the position was found has an event, of its last state if watched. */
function checkItems(observed: Observed): Violation[] {
  const { server, events, id, isChanged, positions } = observed
  const baseline = baselineOf(observed)
  const foundAt = positions.find(({ state }) => state.isPositioned)?.at
  if (foundAt === undefined) return [violation('I1', `${id} never found its position`, id)]
  return server.items.flatMap(item => {
    const isOld = baseline.has(item.id) && (!isChanged || item.at <= foundAt)
    if (isOld) return []
    const own = events.filter(({ identity }) => identity === item.id)
    const isSaid = own.some(({ event }) => (event.data as { text?: string }).text === item.text)
    const isTold = isChanged ? isSaid : own.length > 0
    return isTold ? [] : [violation('I1', `${item.id} of ${id} has no event`, id, item.id)]
  })
}

/** The same item is the same event, however often it is read. */
function checkDoubles({ events, isChanged, id }: Observed): Violation[] {
  const names = new Map<string, string>()
  return events.flatMap(({ event, identity }) => {
    const name = isChanged ? `${identity} ${JSON.stringify(event.data)}` : identity
    const known = names.get(name) ?? event.id
    names.set(name, known)
    if (known === event.id) return []
    return [violation('I2', `${identity} of ${id} is two events`, known, String(event.id))]
  })
}

/** Five failures suspend the dependents once, with one notice each. */
function checkFailures({ world }: MeaningRun, { positions, id }: Observed): Violation[] {
  const notices = world.history.values('notices', 'notice').map(({ value }) => value)
  const changes = world.history.values('registry.changes', 'change').map(({ value }) => value)
  const seen = new Set<string>()
  return positions.flatMap(({ state }) => {
    const { failures, failedSince, suspended } = state
    if (failures >= 5 && !suspended) return [violation('I1', `${id} failed ${failures} times`, id)]
    if (!suspended || seen.has(suspended.at)) return []
    seen.add(suspended.at)
    const cause = `observation-failed/${id}/${failedSince}`
    const told = new Set(notices.filter(each => each.cause === cause).map(each => each.id))
    const owners = new Set(notices.filter(each => each.cause === cause).map(each => each.owner))
    if (told.size === 0 || told.size !== owners.size) {
      return [violation('I1', `${told.size} notices to ${owners.size} owners: ${cause}`, id)]
    }
    const missing = Object.entries(suspended.dependents).find(
      ([subscription, version]) =>
        !changes.some(
          c => c.id === subscription && c.ifVersion === version && c.action === 'suspend',
        ),
    )
    return missing ? [violation('I1', `${missing[0]} was not suspended with ${id}`, id)] : []
  })
}

/** A subscription gets what was read for its own person, and nothing else. */
function checkScopes(timeline: MeaningTimeline): Violation[] {
  return [...timeline.firstCandidate.values()].flatMap(({ value }) => {
    const { tenant, subscription, version, candidateId, event } = value
    const doc = timeline.subscriptionAt(tenant, subscription, version)
    if (!doc?.observe || !event) return []
    const { observe } = doc
    if (event.attributes.subject === observationIdOf({ ...doc, observe })) return []
    return [violation('I19', `${candidateId} comes from another observation`, candidateId)]
  })
}

/** While nothing happens there is one poll an interval for each observation, and not fewer. */
function checkBeat(run: MeaningRun, observed: Observed[]): Violation[] {
  const { from, to } = { from: run.idle.from + 5000, to: run.idle.to }
  return run.servers.servers.flatMap(server => {
    const own = observed.filter(each => each.server === server)
    const wanted = own.reduce((sum, { everyMs }) => sum + (to - from) / everyMs, 0)
    const polls = server.asked.filter(({ at }) => at > from && at <= to).length
    const slack = own.length * 2 + wanted * 0.1
    if (Math.abs(polls - wanted) <= slack) return []
    const text = `${server.name} was polled ${polls} times, wanted were about ${Math.round(wanted)}`
    return [violation('I1', text, ...own.map(({ id }) => id))]
  })
}

/** A process may stand still, and hear late that a connector was written, ms. */
const HEARD_MS = 15_000

/** A tool is called only as somebody allowed it, by what the process was shown before. */
function checkTools(run: MeaningRun, server: SimServer): Violation[] {
  const [tenant = '', name = ''] = server.name.split('-')
  const written = run.world.history
    .values('sources', 'table-document')
    .filter(
      ({ value }) => value.tenant === tenant && value.kind === 'connector' && value.id === name,
    )
  const isAllowed = ({ order, at, operation, shown }: McpAsked) => {
    const before = written.filter(each => each.order <= order)
    const heard = before.findLastIndex(each => each.at < at - HEARD_MS)
    const hashes = before
      .slice(Math.max(0, heard))
      .map(({ value }) => (value.doc as { pins: Record<string, string> }).pins[operation])
    return shown.some(hash => hashes.includes(hash))
  }
  const bad = server.asked.find(asked => !isAllowed(asked))
  if (!bad) return []
  const text = `${bad.process} called ${bad.operation} of ${server.name}, which nobody allowed so`
  return [violation('I15', text, server.name)]
}

/** Is every dependent live again at the end, so that all of this could be seen? */
export function checkLive(run: MeaningRun): Violation[] {
  return [...run.known].flatMap(([tenant, ids]) =>
    ids.flatMap(id => {
      const doc = newestOf<Subscription>(run, tenant, { kind: 'subscription', id })
      if (doc?.state.operation === 'active') return []
      return [violation('I1', `${tenant}/${id} is ${doc?.state.operation} at the end`, id)]
    }),
  )
}
