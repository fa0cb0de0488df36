/** Wiring of the part that tells what happened: read model, its routes, and the page. */
import type { HttpApp } from '#kernel/adapters/http/http-app.ts'
import { hashId, tenantKey } from '#kernel/domain/ids.ts'
import type { Principal } from '#kernel/domain/principal.ts'
import { principalName } from '#kernel/domain/subscription.ts'
import type { Platform } from '#kernel/host/platform.ts'
import { openProjection } from '#kernel/host/projection.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { DeadLetter } from '#schemas/generated/records.ts'
import { INGRESS_TOPICS } from '#topologies/topics.ts'
import { openReadModel, type ReadModel } from './read-model/read-model.ts'
import { EVENT_ERASURE_KIND, NOTICE_ACK_KIND } from './read-model/write-journal.ts'
import { webRoutes } from './routes/web-routes.ts'
import { whatHappenedRoutes } from './routes/what-happened-routes.ts'

export interface WhatHappened {
  model: ReadModel
  stop(): Promise<void>
}

/** Groups whose lag tells how far behind a service is. */
const STEPS = [
  { service: 'control-plane', group: 'registry', topics: ['registry.changes'] },
  { service: 'evaluator', group: 'match', topics: [...INGRESS_TOPICS] },
  { service: 'guard', group: 'guard', topics: ['candidates', 'outcomes'] },
  { service: 'mailbox-dispatcher', group: 'mailbox-dispatcher', topics: ['mailbox'] },
]

/** Opens the model, which catches up in the background, and registers routes and page. */
export async function startWhatHappened(app: HttpApp, platform: Platform): Promise<WhatHappened> {
  const { log, codec, clock, logger, configuration } = platform
  const database = openProjection(configuration, 'read-model')
  const model = await openReadModel({
    ...{ log, codec, database, clock, logger },
    decodeConfluent: platform.decodeConfluent,
  })
  const keep = createKeeper(platform)
  whatHappenedRoutes(app, {
    authenticate: platform.authenticate,
    ...{ model, clock, logger, directory: platform.directory, tables: platform.tables },
    operatorTenant: configuration.AMBIT_TENANT,
    acknowledge: (tenant, id, by) => keep(tenant, NOTICE_ACK_KIND, { id, by, doc: {} }),
    recordErasure: (tenant, event, by) => {
      const id = hashId('e', tenant, event.source, event.id)
      const doc = { source: event.source, eventId: event.id }
      return keep(tenant, EVENT_ERASURE_KIND, { id, by, doc })
    },
    redrive: async letter => void (await log.append([originalOf(letter)])),
    system: () => systemStatus(platform),
  })
  webRoutes(app)
  return {
    model,
    async stop() {
      await model.stop()
      database.close()
    },
  }
}

/** Appends what people did to notices and events, so that a rebuilt model knows it too. */
function createKeeper({ log, codec, clock }: Platform) {
  const writer = createRecordWriter(codec, 'control-plane')
  return async (
    tenant: string,
    kind: string,
    { id, by, doc }: { id: string; by: Principal; doc: object },
  ): Promise<void> => {
    const value = {
      ...{ tenant, kind, id, version: 1, deleted: false },
      updatedAt: clock.now(),
      doc: { ...doc, by: principalName(by) },
    }
    const key = tenantKey(tenant, kind, id)
    await log.append([writer.encode({ topic: 'policies', key, id: key, tenant, value })])
  }
}

/** The record as it was; without a key it goes by the letter's id. */
function originalOf({ id, topic, key, value, headers }: DeadLetter) {
  const texts = Object.entries(headers).map(([name, bytes]) => [name, textOf(bytes)] as const)
  return { topic, key: key ? textOf(key) : id, value, headers: Object.fromEntries(texts) }
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString()

async function systemStatus(platform: Platform): Promise<Record<string, unknown>> {
  const { log, tables, kind } = platform
  const services = STEPS.map(async ({ service, group, topics }) => {
    try {
      const lags = await log.lag(group, topics)
      const lag = lags.reduce((sum, each) => sum + each.lag, 0)
      return { name: service, state: lag === 0 ? 'caught-up' : 'behind', lag }
    } catch {
      return { name: service, state: 'unknown', lag: null }
    }
  })
  const heartbeatAgeMs = tables.heartbeatAgeMs()
  const waiting = platform.notReady()
  return {
    mode: kind,
    planes: [
      {
        name: 'control',
        state: heartbeatAgeMs < 30_000 ? 'alive' : 'silent',
        heartbeatAgeMs: Number.isFinite(heartbeatAgeMs) ? heartbeatAgeMs : null,
      },
      { name: 'execution', state: waiting.length === 0 ? 'running' : 'waiting', waiting },
    ],
    services: await Promise.all(services),
  }
}
