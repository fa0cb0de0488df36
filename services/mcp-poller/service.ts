/** Wiring of the poller: observations of MCP servers become events. */
import type { Platform } from '#kernel/host/platform.ts'
import type { Running } from '#kernel/host/run-process.ts'
import { runStatelessStep } from '#kernel/host/stateless-runner.ts'
import type { StepWorld } from '#kernel/host/step-world.ts'
import { runPoller } from './poller-runner.ts'
import { createTrialStep } from './trial-step.ts'

/** Starts polling; resolves once subscribed. */
export async function startMcpPoller(platform: Platform, stepWorld: StepWorld): Promise<Running[]> {
  const { codec, tables, directory, mcp, admit, telemetry } = platform
  const poller = await runPoller({
    ...stepWorld,
    ...{ codec, tables, directory, mcp, admit },
    onPoll: ({ outcome, items, lateMs }) => {
      telemetry.polls.inc({ outcome })
      telemetry.pollItems.inc(items)
      telemetry.pollLateness.observe(lateMs / 1000)
    },
  })
  const random = Math.random
  const { clock } = stepWorld
  const step = createTrialStep({ codec, directory, mcp, clock, random, admit })
  return [poller, await runStatelessStep(step, stepWorld)]
}
