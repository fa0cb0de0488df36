/**
 * Folders of tickets that grow behind MCP servers, while the processes that poll them are killed,
 * one after the other and both at once.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { eventually } from '#test/support/api-caller.ts'
import type { Cluster } from '#test/support/cluster.ts'
import { change, subscribe } from './change.ts'
import { type Drill, type DrillReport, onCluster, play } from './drill.ts'
import { untilNothingLost } from './findings.ts'
import { type FollowedTopics, followTopics } from './follow-topics.ts'
import { createItemLedger, type ItemLedger, textOf, type Watch } from './item-ledger.ts'
import type { Finding } from './ledger.ts'

const PROGRAM = fileURLToPath(
  new URL('../../services/embedded/demo/ticket-server.ts', import.meta.url),
)
const SIZE = { 'control-plane': 1, evaluator: 1, guard: 1, 'mcp-poller': 2 }
const CONNECTORS = ['tickets-a', 'tickets-b', 'tickets-c']
/** Tickets that lie there before anybody looks. */
const OLD = 2
/** New tickets of a folder in one round; the server lists a hundred at most. */
const ITEMS_A_ROUND = 20
const ITEM_EVERY_MS = 250
/** How long nobody polls what was the victim's, besides what the broker needs to notice. */
const AWAY_MS = 2000
const RECOVER_MS = 60_000

interface Self {
  cluster: Cluster
  folder: string
  ledger: ItemLedger
  followed: FollowedTopics
  /** Tickets written so far, of each folder. */
  written: number
  /** Those that were changed. */
  changed: Set<string>
}

/** Items of MCP servers under `kill -9` of their pollers. */
export const pollerDrill: Drill = {
  name: 'poller',
  does: 'kill -9 of MCP pollers while items come in',
  async run() {
    const folder = mkdtempSync(join(tmpdir(), 'ambit-tickets-'))
    const commands = CONNECTORS.map(name => [name, [process.execPath, PROGRAM, join(folder, name)]])
    const env = { AMBIT_MCP_COMMANDS: JSON.stringify(Object.fromEntries(commands)) }
    try {
      return await onCluster({ size: SIZE, env }, cluster => drill(cluster, folder))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function drill(cluster: Cluster, folder: string): Promise<DrillReport> {
  const ledger = createItemLedger()
  const followed = await followTopics(cluster, {
    ...{ 'ingress.mcp': ledger.event, mailbox: ledger.message },
    ...{ decisions: ledger.decision, cursors: ledger.cursor },
  })
  const self: Self = { cluster, folder, ledger, followed, written: 0, changed: new Set() }
  try {
    await prepare(self)
    return await play<number[]>({
      ...{ victims: 'pollers', rounds: [[0], [1], [0, 1]], counts: ledger.counts },
      round: victims => round(self, victims),
      settled: () => settled(self),
    })
  } finally {
    await followed.stop()
  }
}

async function prepare(self: Self): Promise<void> {
  const { cluster, folder, ledger } = self
  for (const connector of CONNECTORS) {
    mkdirSync(join(folder, connector))
    for (let n = 0; n < OLD; n++) writeTicket(self, connector, `old-${n}.txt`, 1)
    ledger.old.set(connector, OLD)
    const body = { transport: 'stdio', command: connector, allow: [{ operation: 'list_tickets' }] }
    const options = { method: 'PUT', body }
    await change(cluster, 'control-plane', `/v1/connectors/${connector}`, options)
    for (const watch of ['new', 'changed'] as const) await observe(self, { connector, watch })
  }
  // A second one that shares the observation of the first.
  await observe(self, { connector: 'tickets-a', watch: 'new' })
  const observed = CONNECTORS.length * 2
  await eventually('positions of all observations', async () => {
    const found = ledger.observations().filter(({ isPositioned }) => isPositioned)
    return found.length === observed ? found : `saw ${found.length} of ${observed}`
  })
  for (const index of [0, 1]) {
    await eventually(`polls of replica ${index}`, async () =>
      (await pollsOf(cluster, index)) > 0 ? {} : 'saw none',
    )
  }
}

async function observe(self: Self, { connector, watch }: Omit<Watch, 'subscription'>) {
  const { watches } = self.ledger
  const name = `${connector}-${watch}-${watches.length}`
  const operation = { connector, operation: 'list_tickets', everyMs: 1000 }
  const observed = { ...operation, itemsPointer: '/items', watch }
  const body = {
    name,
    agent: 'triage',
    instruction: 'Read it.',
    observe: observed,
    limits: { storm: null },
  }
  const { id } = await subscribe(self.cluster, body)
  watches.push({ subscription: id, connector, watch })
}

/** Whole at once, so that nobody reads half a ticket. */
function writeTicket({ folder }: Self, connector: string, item: string, version: number): void {
  const place = join(folder, connector)
  const draft = join(place, `.${item}`)
  writeFileSync(draft, textOf(item, version))
  renameSync(draft, join(place, item))
}

/** Tickets appear in every folder, and some that were told of change. */
async function write(self: Self): Promise<void> {
  const { ledger } = self
  for (let n = 0; n < ITEMS_A_ROUND; n++) {
    self.written += 1
    for (const connector of CONNECTORS) {
      const item = `t${self.written}.txt`
      ledger.put(connector, item, 1)
      writeTicket(self, connector, item, 1)
      rewriteToldOf(self, connector)
    }
    await sleep(ITEM_EVERY_MS)
  }
}

/** Changes the newest ticket that everybody was told of, unless it was changed before. */
function rewriteToldOf(self: Self, connector: string): void {
  const { ledger, written, changed } = self
  const watches = ledger.watches.filter(watch => watch.connector === connector)
  for (let n = written; n > 0; n--) {
    const item = `t${n}.txt`
    const isTold = watches.every(watch => ledger.messagesOf(watch, item, 1) > 0)
    if (!isTold) continue
    if (changed.has(`${connector} ${item}`)) return
    changed.add(`${connector} ${item}`)
    ledger.put(connector, item, 2)
    writeTicket(self, connector, item, 2)
    return
  }
}

/** Kills the victims at the moment of an event, and starts them again while tickets come in. */
async function round(self: Self, victims: number[]): Promise<Finding[]> {
  const { cluster, ledger } = self
  const replicas = victims.map(index => cluster.replica('mcp-poller', index))
  const before = ledger.counts().events
  const writing = write(self)
  await eventually('an event', async () => (ledger.counts().events > before ? {} : undefined))
  await Promise.all(replicas.map(replica => replica.kill9()))
  await sleep(AWAY_MS)
  await Promise.all([writing, ...replicas.map(replica => replica.start())])
  return untilTold(self)
}

function untilTold({ ledger, followed }: Self): Promise<Finding[]> {
  return untilNothingLost({ barrier: followed.barrier, findings: ledger.findings }, RECOVER_MS)
}

/** Everything was told; it is polled for a while without anything being told again. */
async function settled(self: Self): Promise<Finding[]> {
  const { cluster, ledger, followed } = self
  const eventsOf = () => ledger.counts().events + ledger.counts().repeated
  const events = eventsOf()
  const polls = await allPolls(cluster)
  const more = 4 * CONNECTORS.length * 2
  await eventually(`${more} more polls`, async () => {
    const made = (await allPolls(cluster)) - polls
    return made >= more ? {} : `saw ${made}`
  })
  await followed.barrier()
  const again = eventsOf() - events
  const text = `${again} events were emitted although nothing was new`
  const repeated: Finding[] = again > 0 ? [{ kind: 'doubled', text }] : []
  return [...ledger.findings(), ...ledger.cursorFindings(), ...repeated]
}

async function allPolls(cluster: Cluster): Promise<number> {
  return (await pollsOf(cluster, 0)) + (await pollsOf(cluster, 1))
}

async function pollsOf(cluster: Cluster, index: number): Promise<number> {
  const answer = await fetch(`${cluster.replica('mcp-poller', index).url}/metrics`)
  const found = /ambit_mcp_polls_total\{outcome="answered"\} (\d+)/.exec(await answer.text())
  return Number(found?.[1] ?? 0)
}
