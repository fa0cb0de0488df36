/** Wiring of the control plane: registry, heartbeat, API. */
import type { HttpApp } from '#kernel/adapters/http/http-app.ts'
import type { Platform } from '#kernel/host/platform.ts'
import { createRecordWriter } from '#kernel/host/record-writer.ts'
import type { Running } from '#kernel/host/run-process.ts'
import { runStep, type StepWorld } from '#kernel/host/step-runner.ts'
import { startHeartbeat } from './heartbeat.ts'
import { readIngressEnds } from './ingress-ends.ts'
import { createRegistryClient } from './registry/registry-client.ts'
import { createRegistryStep } from './registry/registry-step.ts'
import { applyRoutes } from './routes/apply-routes.ts'
import { objectRoutes } from './routes/object-routes.ts'
import { subscriptionRoutes } from './routes/subscription-routes.ts'

/** Starts the registry and adds the routes of the control plane. */
export async function startControlPlane(
  app: HttpApp,
  platform: Platform,
  stepWorld: StepWorld,
): Promise<Running[]> {
  const { log, codec, clock, ids, logger, tables, directory, configuration } = platform
  const heartbeat = await startHeartbeat({ log, codec, clock, logger })
  const step = createRegistryStep({
    codec,
    directory,
    ingressEnds: tenants => readIngressEnds(log, tenants),
  })
  const registryStep = await runStep(step, stepWorld)
  const writer = createRecordWriter(codec, 'control-plane')
  const registry = await createRegistryClient({ log, codec, writer, clock, ids })
  const world = {
    ...{ authenticate: platform.authenticate, registry, directory, tables, ids },
    secrets: platform.secrets,
    allowUnverified: configuration.AMBIT_ALLOW_UNVERIFIED,
    autoAgentTenant: configuration.AMBIT_TENANT,
    lastOf: () => undefined,
  }
  subscriptionRoutes(app, world)
  applyRoutes(app, world)
  objectRoutes(app, world)
  return [heartbeat, registryStep, registry]
}
