/** Edits of one subscription, each followed at once by events that the edit decides about. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '#test/support/cluster.ts'
import { change, subscribe } from './change.ts'
import type { Scene } from './scene.ts'

export interface EditReport {
  /** Events sent after an answered edit that let them in. */
  wanted: string[]
  /** Events sent after an answered edit that kept them out. */
  unwanted: string[]
  /** Changes that were not answered in time. */
  pending: number
}

const NAME = 'edited'
const TYPE = 'chaos.edited'
/** How long an event may take until it is seen in the mailbox. */
const FATE_MS = 8000
const POLL_MS = 20

/** A subscription to edit; its executor is not needed: what counts is the mailbox topic. */
export async function makeEdited(scene: Scene): Promise<string> {
  const body = {
    ...{ name: NAME, agent: NAME, instruction: 'Work.', on: { types: [TYPE] } },
    filters: [{ exact: { 'data.edit': 'none' } }],
    limits: { storm: null },
  }
  const { cluster } = scene
  await change(cluster, 'control-plane', `/v1/agents/${NAME}`, { method: 'PUT', body: {} })
  const { id } = await subscribe(cluster, body)
  scene.ledger.subscriptions.set(NAME, id)
  return id
}

/** Edits `times` times in turn: another filter; a pause; a resume. */
export async function editAndSend(
  { cluster, ledger }: Scene,
  id: string,
  times: number,
): Promise<EditReport> {
  const report: EditReport = { wanted: [], unwanted: [], pending: 0 }
  let value = 'none'
  for (let n = 0; n < times; n++) {
    const old = value
    const isPause = n % 3 === 1
    if (n % 3 === 0) value = `value-${n}`
    const status = await edit(cluster, id, { n, value })
    if (status !== 200) {
      report.pending += 1
      continue
    }
    const events = [`edit-${n}-new`, `edit-${n}-old`] as const
    await Promise.all([
      send(cluster, { n, id: events[0], value }),
      old === value ? undefined : send(cluster, { n, id: events[1], value: old }),
    ])
    report[isPause ? 'unwanted' : 'wanted'].push(events[0])
    if (old !== value) report.unwanted.push(events[1])
    // The next edit would rightly judge what has no fate yet; after a pause it comes at once.
    const isThere = () => isPause || ledger.messagesOf(NAME, events[0]) > 0
    for (let waited = 0; waited < FATE_MS && !isThere(); waited += POLL_MS) await sleep(POLL_MS)
  }
  return report
}

async function edit(
  cluster: Cluster,
  id: string,
  { n, value }: { n: number; value: string },
): Promise<number> {
  const path = `/v1/subscriptions/${id}`
  const replica = n % cluster.replicas('control-plane').length
  if (n % 3 === 1) {
    const body = { reason: 'a test' }
    return (await cluster.call('control-plane', `${path}/pause`, { body, replica })).status
  }
  if (n % 3 === 2) {
    return (await cluster.call('control-plane', `${path}/resume`, { body: {}, replica })).status
  }
  const body = { filters: [{ exact: { 'data.edit': value } }] }
  const headers = { 'content-type': 'application/merge-patch+json' }
  const options = { method: 'PATCH', body, headers, replica }
  return (await cluster.call('control-plane', path, options)).status
}

/** Two sources, so that the events of one edit come from two partitions; another replica. */
async function send(
  cluster: Cluster,
  { n, id, value }: { n: number; id: string; value: string },
): Promise<void> {
  const replica = (n + 1) % cluster.replicas('ingest').length
  const body = {
    ...{ specversion: '1.0', id, source: `/edits/${id.length % 7}/${n % 5}`, type: TYPE },
    data: { edit: value },
  }
  const headers = { 'content-type': 'application/cloudevents+json' }
  const { status } = await cluster.call('ingest', '/v1/events', { body, headers, replica })
  assert.equal(status, 202)
}
