/** Wiring of the poller: observations of MCP servers become events. */
import type { Platform } from '#kernel/host/platform.ts'
import type { Running } from '#kernel/host/run-process.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import { runPoller } from './poller-runner.ts'

/** Starts polling; resolves once subscribed. */
export async function startMcpPoller(platform: Platform, stepWorld: StepWorld): Promise<Running[]> {
  const { codec, tables, directory, mcp, telemetry } = platform
  const poller = await runPoller({
    ...stepWorld,
    ...{ codec, tables, directory, mcp },
    onPoll: ({ outcome, items, lateMs }) => {
      telemetry.polls.inc({ outcome })
      telemetry.pollItems.inc(items)
      telemetry.pollLateness.observe(lateMs / 1000)
    },
  })
  return [poller]
}
