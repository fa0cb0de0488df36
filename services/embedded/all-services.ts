/** Every service in one process, on whichever backbone the configuration names. */

import { openChatModel } from '#kernel/host/open-chat-model.ts'
import type { Process, Running } from '#kernel/host/run-process.ts'
import { isAgentEnabled } from '#services/agent/configuration.ts'
import { startAgent } from '#services/agent/service.ts'
import { startControlPlane } from '#services/control-plane/service.ts'
import { startConfiguredJudge } from '#services/evaluator/judge-service.ts'
import { startMatching } from '#services/evaluator/match-service.ts'
import { startGuard } from '#services/guard/service.ts'
import { startCalendars } from '#services/ingest/calendar-service.ts'
import { registerIngest } from '#services/ingest/service.ts'
import { startMailboxDispatcher } from '#services/mailbox-dispatcher/service.ts'
import { startMcpPoller } from '#services/mcp-poller/service.ts'
import { startScheduler } from '#services/scheduler/service.ts'

/** Starts all parts; the control plane first, since its heartbeat lets the others begin. */
export async function startAllServices({ platform, app, stepWorld }: Process): Promise<Running[]> {
  const controlPlane = await startControlPlane(app, platform, stepWorld('control-plane'))
  const defaultTenant = platform.configuration.AMBIT_TENANT
  const onAccepted = (door: string, count: number) =>
    platform.telemetry.accepted.inc({ door }, count)
  await registerIngest(app, { ...platform, defaultTenant, onAccepted })
  const calendars = await startCalendars(app, platform)
  const dispatcher = await startMailboxDispatcher(app, platform, stepWorld('mailbox-dispatcher'))
  const guard = await startGuard(platform, stepWorld('guard'))
  const matching = await startMatching({ ...platform, ...stepWorld('evaluator') })
  const judge = await startConfiguredJudge(platform, stepWorld('evaluator'))
  const scheduler = await startScheduler(platform, stepWorld('scheduler'))
  const poller = await startMcpPoller(platform, stepWorld('mcp-poller'))
  const { env: environment } = process
  const agent = isAgentEnabled(environment)
    ? await startAgent(app, platform, { environment, openModel: openChatModel })
    : []
  return [
    ...controlPlane,
    ...calendars,
    ...dispatcher,
    ...guard,
    matching,
    ...judge,
    ...scheduler,
    ...poller,
    ...agent,
  ]
}
