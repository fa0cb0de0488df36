/** Wiring of the control plane: registry, heartbeat, API. */
import { followCalendars } from '#kernel/host/follow-calendars.ts'
import type { HttpApp } from '#kernel/host/http-app.ts'
import { openLiveTables } from '#kernel/host/live-tables.ts'
import type { Platform } from '#kernel/host/platform.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import { createRegistryClient } from '#kernel/host/registry-client.ts'
import type { Running } from '#kernel/host/run-process.ts'
import { runStep } from '#kernel/host/step-runner.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import { startHeartbeat } from './heartbeat.ts'
import { readIngressEnds } from './ingress-ends.ts'
import { labelRoutes } from './labels/label-routes.ts'
import { startLabelWatch } from './labels/label-watch.ts'
import { judgingState } from './read-model/judging-query.ts'
import { openReadModel } from './read-model/read-model.ts'
import { createRegistryStep } from './registry/registry-step.ts'
import { answerOutput } from './routes/answer-ask.ts'
import { applyRoutes } from './routes/apply-routes.ts'
import { connectorRoutes } from './routes/connector-routes.ts'
import { objectRoutes } from './routes/object-routes.ts'
import { scheduleRoutes } from './routes/schedule-routes.ts'
import { subscriptionRoutes } from './routes/subscription-routes.ts'
import { webRoutes } from './routes/web-routes.ts'
import { whatHappenedRoutes } from './routes/what-happened-routes.ts'
import { followLag } from './system/follow-lag.ts'
import { systemState } from './system/system-state.ts'
import { acknowledge, recordErasure, redrive } from './table-records.ts'
import { backtestRoutes } from './trials/backtest-routes.ts'
import { createBacktests } from './trials/backtests.ts'
import { createTrialClient } from './trials/trial-client.ts'
import { trialRoutes } from './trials/trial-routes.ts'

/** Starts the registry and adds the routes of the control plane. */
export async function startControlPlane(
  app: HttpApp,
  platform: Platform,
  stepWorld: StepWorld,
): Promise<Running[]> {
  const { log, codec, clock, ids, logger, tables, directory, configuration } = platform
  const heartbeat = await startHeartbeat({ log, codec, clock, logger })
  const calendars = await followCalendars({ log, codec })
  const step = createRegistryStep({
    codec,
    directory,
    calendars,
    ingressEnds: tenants => readIngressEnds(log, tenants),
  })
  const registryStep = await runStep(step, stepWorld)
  const writer = createRecordWriter(codec, 'control-plane')
  const registry = await createRegistryClient({ log, codec, writer, clock, ids })
  const model = await openReadModel({
    ...{ log, codec, clock, logger, database: platform.openProjection('read-model') },
    decodeConfluent: platform.decodeConfluent,
  })
  const cursors = await openLiveTables({ log, codec, clock, topics: ['cursors'] })
  const lag = await followLag({ log, codec, tables, cursors, calendars })
  const world = {
    ...{ authenticate: platform.authenticate, registry, directory, tables, ids, clock },
    calendars,
    signer: platform.signer,
    secrets: platform.secrets,
    httpSender: platform.httpSender,
    allowUnverified: configuration.AMBIT_ALLOW_UNVERIFIED,
    autoAgentTenant: configuration.AMBIT_TENANT,
    lastOf: model.lastOf,
  }
  subscriptionRoutes(app, world)
  applyRoutes(app, world)
  objectRoutes(app, world)
  const { mcp } = platform
  connectorRoutes(app, { ...world, mcp, mcpCommands: configuration.AMBIT_MCP_COMMANDS, cursors })
  const records = { log, writer, clock }
  whatHappenedRoutes(app, {
    ...{ authenticate: platform.authenticate, model, directory, tables, clock, logger },
    acknowledge: (tenant, id, by) => acknowledge(records, tenant, id, by),
    recordErasure: (tenant, event, by) => recordErasure(records, tenant, event, by),
    answerAsk: async (ask, answer) => {
      await log.append([writer.encode(answerOutput(ask, answer))])
    },
    redrive: letter => redrive(log, letter),
    system: () =>
      systemState({
        ...{ log, tables, lag, now: clock.now, continuityMs: configuration.AMBIT_CONTINUITY_MS },
        judging: nowMs => judgingState(model, nowMs),
      }),
    operatorTenant: configuration.AMBIT_TENANT,
  })
  const trials = await createTrialClient({ log, codec, writer, clock })
  const backtests = createBacktests({
    ...{ model, trials, clock, logger },
    isAlone: stepWorld.store.atomicWithLog,
  })
  trialRoutes(app, { ...world, calendars, trials })
  backtestRoutes(app, { ...world, calendars, backtests })
  scheduleRoutes(app, { ...world, model })
  const labels = await openLiveTables({ log, codec, clock, topics: ['labels'] })
  labelRoutes(app, { ...world, model, trials, labels })
  const { store } = stepWorld
  const watched = { model, trials, labels, tables, directory }
  const labelWatch = await startLabelWatch({ log, writer, store, ids, clock, logger, ...watched })
  webRoutes(app)
  const follows = [calendars, cursors, lag, labels]
  return [heartbeat, registryStep, registry, model, trials, backtests, ...follows, labelWatch]
}
